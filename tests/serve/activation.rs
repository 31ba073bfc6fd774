//! Socket activation: sockets that somebody else bound are served, and queries that came before the start are answered.

use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::dns::{Over, query, try_ask};
use super::server::{binary, eventually, sample_zones};

#[test]
fn sockets_that_were_handed_over_are_served_and_the_supervisor_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let tcp = TcpListener::bind(udp.local_addr().expect("an address")).expect("the same port");
    let address = udp.local_addr().expect("an address");
    let notified = std::os::unix::net::UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
    notified.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    // Asked before anybody serves: it waits in the kernel.
    let early = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    early.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    early.send_to(&query("example.com", "A"), address).expect("a query");
    // The shell puts the sockets where systemd would, and becomes the server, whose process it names.
    let script = format!(
        "exec 3<&{udp} 4<&{tcp}; LISTEN_PID=$$ LISTEN_FDS=2 exec {} serve --http 127.0.0.1:0 --zones {}",
        binary(),
        sample_zones().display(),
        udp = 9,
        tcp = 8
    );
    let handed = format!("/proc/{}/fd", std::process::id());
    let opened = [udp.as_raw_fd(), tcp.as_raw_fd()];
    let mut child = Command::new("python3")
        .args(["-c", PASS, &script, &opened[0].to_string(), &opened[1].to_string(), &handed])
        .current_dir(folder.path())
        .env("NOTIFY_SOCKET", folder.path().join("notify"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let mut buffer = [0; 512];
    let length = early.recv(&mut buffer).expect("an answer to the early query");
    assert!(length > 12 && buffer[3] & 15 == 0);
    let told = notified.recv(&mut buffer).expect("a word");
    assert_eq!(&buffer[..told], b"READY=1");
    let reply = eventually(10, "an answer", || try_ask(address, Over::Tcp, "example.com", "A"), Option::is_some);
    assert_eq!(reply.map(|reply| reply.rcode).as_deref(), Some("NOERROR"));
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    child.wait().expect("its end");
}

/// Takes two sockets of its parent by pidfd, and hands them on as descriptors 9 and 8.
const PASS: &str = "
import os, sys, ctypes
script, udp, tcp = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
parent = os.pidfd_open(os.getppid())
for number, to in ((udp, 9), (tcp, 8)):
    got = libc.syscall(438, parent, number, 0)
    if got < 0:
        raise OSError(ctypes.get_errno(), 'pidfd_getfd')
    os.dup2(got, to, inheritable=True)
os.execvp('sh', ['sh', '-c', script])
";
