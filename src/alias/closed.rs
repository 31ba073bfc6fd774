//! Whether an upstream's port is closed: a resolver's own sockets are not connected, so that ICMP's word that nobody
//! listens never reaches them, and a closed port would look like a slow server.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

/// How long a server may take before its port is looked at.
const AFTER: Duration = Duration::from_millis(200);
/// How long the network may take to say that nobody listens.
const WAIT: Duration = Duration::from_millis(300);
/// For how long a look is good: many lookups wait for a dead server at the same time.
const HOLD: Duration = Duration::from_secs(1);
/// Most datagrams that one look takes in; a server says nothing to an empty one.
const MOST_READ: usize = 4;

/// The port of one upstream.
#[derive(Debug)]
pub(super) struct Port {
    server: SocketAddr,
    /// When it was looked at last, and whether it was closed. Whoever looks holds the lock.
    seen: Mutex<Option<(Instant, bool)>>,
}

impl Port {
    pub(super) fn new(server: SocketAddr) -> Port {
        Port { server, seen: Mutex::new(None) }
    }

    /// Ends when the network says that nobody listens there or that there is no way, by an empty datagram from a
    /// connected socket; else never.
    pub(super) async fn closed(&self) {
        sleep(AFTER).await;
        if !self.is_closed().await {
            std::future::pending::<()>().await;
        }
    }

    async fn is_closed(&self) -> bool {
        let mut seen = self.seen.lock().await;
        if let Some((at, closed)) = *seen
            && at.elapsed() < HOLD
        {
            return closed;
        }
        // Who says nothing is there, as far as anybody knows.
        let closed = timeout(WAIT, look(self.server)).await.unwrap_or(false);
        *seen = Some((Instant::now(), closed));
        closed
    }
}

async fn look(server: SocketAddr) -> bool {
    let local = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    // Without a socket of our own nothing is known of theirs.
    let Ok(socket) = UdpSocket::bind(local).await else { return false };
    if let Err(error) = socket.connect(server).await {
        return says_so(error.kind());
    }
    if let Err(error) = socket.send(&[]).await {
        return says_so(error.kind());
    }
    let mut octets = [0_u8; 16];
    for _ in 0..MOST_READ {
        if let Err(error) = socket.recv(&mut octets).await {
            return says_so(error.kind());
        }
    }
    false
}

/// Whether an error is about the way to the server.
fn says_so(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::ConnectionReset
    )
}
