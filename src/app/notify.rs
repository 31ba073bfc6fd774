//! Tells the supervisor how the server stands, by the protocol of systemd's `sd_notify`: a datagram to the socket that the
//! environment names. Without one nobody is told.

use std::os::unix::net::UnixDatagram;

/// Sends one line, as `READY=1`. A supervisor that is gone is no reason to stop.
pub(super) fn tell(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let Ok(own) = UnixDatagram::unbound() else { return };
    let sent = match socket.to_str().and_then(|path| path.strip_prefix('@')) {
        Some(name) => abstract_address(name).and_then(|address| own.send_to_addr(state.as_bytes(), &address)),
        None => own.send_to(state.as_bytes(), &socket),
    };
    if let Err(error) = sent {
        tracing::warn!(%error, "the supervisor is not told: {state}");
    }
}

/// A socket without a file, as some supervisors use.
fn abstract_address(name: &str) -> std::io::Result<std::os::unix::net::SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    std::os::unix::net::SocketAddr::from_abstract_name(name)
}
