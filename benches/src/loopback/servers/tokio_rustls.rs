//! tokio-rustls, with aws-lc-rs.

use std::net::TcpListener;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;

use super::{Server, tokio_echo};
use crate::contender::rustls_config::{self, AwsLcRs};
use crate::loopback::work::Job;

pub(super) struct TokioRustls;

impl Server for TokioRustls {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        let acceptor = TlsAcceptor::from(rustls_config::server::<AwsLcRs>(&Job::setting()));
        tokio_echo::serve(listener, job, |socket| {
            let accept = acceptor.accept(socket);
            async { accept.await.expect("the client is well") }
        });
    }
}
