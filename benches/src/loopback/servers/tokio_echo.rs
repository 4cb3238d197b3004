//! The servers on tokio: one thread, a task for each connection.

use std::future::Future;
use std::net::TcpListener;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::loopback::work::{Job, Sink, Work};

/// Serves on tokio's current-thread runtime; `accept` does the handshake.
pub(super) fn serve<F, S>(listener: TcpListener, job: &Arc<Job>, accept: impl Fn(TcpStream) -> F)
where
    F: Future<Output = S> + Send + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let runtime = Builder::new_current_thread().enable_io().build().expect("tokio has a runtime");
    listener.set_nonblocking(true).expect("a socket");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let mut tasks = JoinSet::new();
        for _ in 0..job.connections {
            let (socket, _) = listener.accept().await.expect("a connection");
            socket.set_nodelay(true).expect("a TCP socket");
            let (stream, job) = (accept(socket), Arc::clone(job));
            tasks.spawn(async move { work(stream.await, &job).await });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("a task ends well");
        }
    });
}

/// Does one connection's work until its client is gone.
async fn work(mut stream: impl AsyncRead + AsyncWrite + Unpin, job: &Job) {
    let mut buffer = vec![0; job.work.record()];
    match job.work {
        Work::Answer => while answer(&mut stream, &mut buffer).await.is_ok() {},
        Work::Receive => {
            let mut sink = Sink::new(job, 1);
            while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                sink.take(job, 0, &buffer[..n]);
            }
        }
        Work::Send => {
            let record = job.record();
            while stream.write_all(&record).await.is_ok() {
                job.has_moved(record.len());
            }
        }
    }
}

async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), buffer: &mut [u8]) -> std::io::Result<()> {
    stream.read_exact(buffer).await?;
    stream.write_all(buffer).await?;
    stream.flush().await
}
