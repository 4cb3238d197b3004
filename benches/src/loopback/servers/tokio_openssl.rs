//! tokio-openssl.

use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;

use openssl::ssl::Ssl;
use tokio_openssl::SslStream;

use super::{Server, tokio_echo};
use crate::loopback::work::Job;

pub(super) struct TokioOpenssl;

impl Server for TokioOpenssl {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        let context = Job::setting().openssl_server();
        tokio_echo::serve(listener, job, |socket| {
            let ssl = Ssl::new(&context).expect("OpenSSL makes a server");
            let mut stream = SslStream::new(ssl, socket).expect("a stream over a socket");
            async {
                Pin::new(&mut stream).accept().await.expect("the client is well");
                stream
            }
        });
    }
}
