//! How long a connection is waited for: the head of a request has to come soon once it began, and between two requests a
//! client may be silent for longer. hyper has one time for both.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Time for the head of a request from its first octet on, and for the first octet of a connection.
pub(super) const MAX_HEAD_TIME: Duration = Duration::from_secs(10);
/// Time for which a connection may be idle between two requests: clients that call each minute find it open.
pub(super) const MAX_IDLE_TIME: Duration = Duration::from_secs(130);
/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The head of a request, of whose end so many octets were seen.
    Head(usize),
    /// The next request.
    Request,
    /// Nothing here: the body has a time of its own, and an answer takes what it takes.
    Nothing,
}

/// A connection that is waited for with patience.
#[derive(Debug)]
pub(super) struct Patient<S> {
    stream: S,
    wait: Wait,
    timer: Pin<Box<Sleep>>,
    /// For a head, and between two requests.
    times: (Duration, Duration),
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S) -> Patient<S> {
        Patient::with((MAX_HEAD_TIME, MAX_IDLE_TIME), stream)
    }

    fn with(times: (Duration, Duration), stream: S) -> Patient<S> {
        Patient { stream, wait: Wait::Head(0), timer: Box::pin(tokio::time::sleep(times.0)), times }
    }

    fn wait_for(&mut self, wait: Wait, time: Duration) {
        self.wait = wait;
        self.timer.as_mut().reset(Instant::now() + time);
    }

    fn note_read(&mut self, octets: &[u8]) {
        if self.wait == Wait::Request && !octets.is_empty() {
            self.wait_for(Wait::Head(0), self.times.0);
        }
        let Wait::Head(mut seen) = self.wait else { return };
        for octet in octets {
            seen = match END.get(seen) {
                Some(wanted) if wanted == octet => seen + 1,
                // A carriage return may begin the end anew.
                Some(_) | None => usize::from(*octet == b'\r'),
            };
            if seen == END.len() {
                self.wait = Wait::Nothing;
                return;
            }
        }
        self.wait = Wait::Head(seen);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                self.note_read(&buffer.filled()[before..]);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => match self.wait {
                Wait::Nothing => Poll::Pending,
                Wait::Head(_) | Wait::Request => {
                    self.timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
                }
            },
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, octets);
        if matches!(written, Poll::Ready(Ok(_))) {
            let idle = self.times.1;
            self.wait_for(Wait::Request, idle);
        }
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, octets);
        if matches!(written, Poll::Ready(Ok(_))) {
            let idle = self.times.1;
            self.wait_for(Wait::Request, idle);
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    const SHORT: Duration = Duration::from_millis(80);
    const LONG: Duration = Duration::from_secs(60);

    fn pair(head: Duration, idle: Duration) -> (DuplexStream, Patient<DuplexStream>) {
        let (client, server) = tokio::io::duplex(1_024);
        (client, Patient::with((head, idle), server))
    }

    /// Reads one chunk: its length, or that the time was over.
    async fn read(server: &mut Patient<DuplexStream>) -> Result<usize, io::ErrorKind> {
        server.read(&mut [0; 256]).await.map_err(|error| error.kind())
    }

    #[test]
    fn clients_that_call_each_minute_find_the_connection_open() {
        assert!(MAX_IDLE_TIME > Duration::from_secs(120) && MAX_HEAD_TIME <= Duration::from_secs(10));
    }

    #[tokio::test]
    async fn a_client_may_be_silent_between_requests_and_not_within_a_head() {
        let (mut client, mut server) = pair(SHORT, LONG);
        for _ in 0..2 {
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("room");
            assert_eq!(read(&mut server).await, Ok(18));
            server.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("room");
            assert_eq!(client.read(&mut [0; 64]).await.expect("an answer"), 19);
            let silent = tokio::time::timeout(3 * SHORT, read(&mut server)).await;
            assert!(silent.is_err(), "longer than for a head, and it is still open");
        }
        client.write_all(b"GET / HTTP/1.1\r\nhost: ").await.expect("room");
        assert_eq!(read(&mut server).await, Ok(22));
        assert_eq!(read(&mut server).await, Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn a_connection_that_says_nothing_and_one_that_is_idle_too_long_end() {
        let (_silent, mut server) = pair(SHORT, LONG);
        assert_eq!(read(&mut server).await, Err(io::ErrorKind::TimedOut));
        let (mut client, mut server) = pair(LONG, SHORT);
        client.write_all(b"x\r\r\n\r\n").await.expect("room");
        assert_eq!(read(&mut server).await, Ok(6));
        // A body takes what it takes here.
        assert!(tokio::time::timeout(3 * SHORT, read(&mut server)).await.is_err());
        server.write_all(b"answer").await.expect("room");
        assert_eq!(read(&mut server).await, Err(io::ErrorKind::TimedOut));
    }
}
