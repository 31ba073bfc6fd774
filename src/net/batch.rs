//! Many UDP messages in one system call. The one module with `unsafe`: recvmmsg and sendmmsg have no safe form in std.
//!
//! Why it is sound: every pointer handed to the kernel points into a buffer owned by [`Batch`], whose length stands
//! beside it; the buffers are allocated once and never moved or resized while a `Batch` lives; and of what the kernel
//! fills in, no more is read than it says it wrote.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _};

/// Messages read or written in one call.
pub(super) const BATCH: usize = 64;
/// Octets of a receive buffer: one more than the longest message that is read, so that a longer one is seen to be so.
pub(super) const RECEIVE: usize = crate::answer::MAX_UDP_QUERY + 1;
/// Room for one packet-info control message of either family.
const CONTROL: usize = 64;
/// Octets of the kernel's buffers of a socket; what does not fit is dropped there.
const SOCKET_BUFFER: libc::c_int = 4 << 20;

/// The address that a datagram was sent to, as the kernel tells it and wants it back (answers.md H12).
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalInfo {
    octets: [u8; CONTROL],
    length: usize,
}

/// Buffers for one batch in and one batch out.
pub(super) struct Batch {
    received: Box<[u8]>,
    replies: Box<[u8]>,
    reply_size: usize,
    peers: Box<[libc::sockaddr_storage; BATCH]>,
    controls: Box<[[u64; CONTROL / 8]; BATCH]>,
    in_vectors: Box<[libc::iovec; BATCH]>,
    out_vectors: Box<[libc::iovec; BATCH]>,
    incoming: Box<[libc::mmsghdr; BATCH]>,
    outgoing: Box<[libc::mmsghdr; BATCH]>,
    queued: usize,
    /// Headers from the first on that the kernel may have written to.
    written: usize,
    with_info: bool,
}

impl Batch {
    /// Buffers for replies of at most `reply_size` octets. With `with_info` the destination of each datagram is kept and
    /// the reply leaves from it: needed on wildcard addresses.
    pub(super) fn new(reply_size: usize, with_info: bool) -> Batch {
        // SAFETY: all of these are plain C structs for which all zero octets are a valid value.
        let (peers, in_vectors, out_vectors, incoming, outgoing) =
            unsafe { (zeroed(), zeroed(), zeroed(), zeroed(), zeroed()) };
        let mut batch = Batch {
            received: vec![0; BATCH * RECEIVE].into_boxed_slice(),
            replies: vec![0; BATCH * reply_size].into_boxed_slice(),
            reply_size,
            peers: Box::new(peers),
            controls: Box::new([[0; CONTROL / 8]; BATCH]),
            in_vectors: Box::new(in_vectors),
            out_vectors: Box::new(out_vectors),
            incoming: Box::new(incoming),
            outgoing: Box::new(outgoing),
            queued: 0,
            written: BATCH,
            with_info,
        };
        for index in 0..BATCH {
            batch.in_vectors[index].iov_base = batch.received[index * RECEIVE..].as_mut_ptr().cast();
            batch.in_vectors[index].iov_len = RECEIVE;
            let header = &mut batch.incoming[index].msg_hdr;
            header.msg_iov = &raw mut batch.in_vectors[index];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut batch.peers[index]).cast();
            let header = &mut batch.outgoing[index].msg_hdr;
            header.msg_iov = &raw mut batch.out_vectors[index];
            header.msg_iovlen = 1;
        }
        batch
    }

    /// Waits for at least one datagram, at most until the socket's time-out, and takes what is there.
    pub(super) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        for index in 0..self.written {
            let header = &mut self.incoming[index].msg_hdr;
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            if self.with_info {
                header.msg_control = self.controls[index].as_mut_ptr().cast();
                header.msg_controllen = CONTROL as _;
            }
        }
        self.queued = 0;
        // SAFETY: `incoming` has BATCH headers, whose buffers are described above.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.incoming.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_WAITFORONE as _,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(count) {
            Ok(count) => {
                self.written = count;
                Ok(count)
            }
            Err(_) => {
                self.written = BATCH;
                Err(io::Error::last_os_error())
            }
        }
    }

    /// A received datagram, the sender, and the buffer for its reply.
    #[inline]
    pub(super) fn message(&mut self, index: usize) -> (&[u8], SocketAddr, &mut [u8]) {
        let length = (self.incoming[index].msg_len as usize).min(RECEIVE);
        let start = index * RECEIVE;
        let reply = index * self.reply_size;
        let peer = address(&self.peers[index]);
        (&self.received[start..start + length], peer, &mut self.replies[reply..reply + self.reply_size])
    }

    /// Where a received datagram was sent to, if that is kept.
    pub(super) fn local_info(&self, index: usize) -> LocalInfo {
        let mut info = LocalInfo { octets: [0; CONTROL], length: 0 };
        if self.with_info {
            info.length = self.incoming[index].msg_hdr.msg_controllen.min(CONTROL);
            for (at, word) in self.controls[index].iter().enumerate() {
                info.octets[at * 8..at * 8 + 8].copy_from_slice(&word.to_ne_bytes());
            }
        }
        info
    }

    /// Queues the first octets of a datagram's reply buffer to go to its sender.
    #[inline]
    pub(super) fn queue_reply(&mut self, index: usize, length: usize) {
        let at = self.queued;
        self.queued += 1;
        self.out_vectors[at].iov_base = self.replies[index * self.reply_size..].as_mut_ptr().cast();
        self.out_vectors[at].iov_len = length.min(self.reply_size);
        let header = &mut self.outgoing[at].msg_hdr;
        header.msg_name = (&raw mut self.peers[index]).cast();
        header.msg_namelen = self.incoming[index].msg_hdr.msg_namelen;
        if self.with_info {
            header.msg_control = self.controls[index].as_mut_ptr().cast();
            header.msg_controllen = self.incoming[index].msg_hdr.msg_controllen;
        }
    }

    /// Sends what is queued. A reply that the kernel does not take is left out; one too large for the path is sent again
    /// cut to its question with TC (answers.md Z5). Gives the number of replies that were not sent.
    pub(super) fn send(&mut self, socket: &UdpSocket) -> usize {
        let mut sent = 0;
        let mut lost = 0;
        let mut cut = false;
        while sent < self.queued {
            // SAFETY: the headers from `sent` to `queued` were filled by `queue_reply`.
            let count = unsafe {
                let first = self.outgoing.as_mut_ptr().add(sent);
                libc::sendmmsg(socket.as_raw_fd(), first, (self.queued - sent) as libc::c_uint, 0)
            };
            match usize::try_from(count) {
                Ok(count) => {
                    sent += count.max(1);
                    cut = false;
                }
                Err(_) => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EMSGSIZE) if !cut && self.cut(sent) => cut = true,
                    _ => {
                        sent += 1;
                        lost += 1;
                        cut = false;
                    }
                },
            }
        }
        self.queued = 0;
        lost
    }

    /// Cuts a queued reply to header and question.
    fn cut(&mut self, at: usize) -> bool {
        let base = self.out_vectors[at].iov_base as usize - self.replies.as_ptr() as usize;
        let length = self.out_vectors[at].iov_len;
        match super::truncated(&mut self.replies[base..base + length]) {
            Some(shorter) => {
                self.out_vectors[at].iov_len = shorter;
                true
            }
            None => false,
        }
    }
}

/// Sends one datagram from the address that its query was sent to.
pub(super) fn send_from(socket: &UdpSocket, octets: &[u8], peer: SocketAddr, info: &LocalInfo) -> io::Result<()> {
    let mut storage = Storage::of(peer);
    let mut control = [0_u64; CONTROL / 8];
    for (word, octets) in control.iter_mut().zip(info.octets.chunks_exact(8)) {
        *word = u64::from_ne_bytes(octets.try_into().expect("eight octets"));
    }
    let mut vector = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    // SAFETY: a zeroed msghdr is valid; every pointer below is to a local that outlives the call, with its length.
    let sent = unsafe {
        let mut header: libc::msghdr = zeroed();
        header.msg_name = (&raw mut storage.octets).cast();
        header.msg_namelen = storage.length;
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        if info.length > 0 {
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = info.length as _;
        }
        libc::sendmsg(socket.as_raw_fd(), &raw const header, 0)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A UDP socket that shares its address with others of this process (SO_REUSEPORT) and ignores path MTU messages, with
/// a receive time-out so that its thread can end.
pub(super) fn bind(address: SocketAddr, timeout: std::time::Duration) -> io::Result<UdpSocket> {
    let (family, level) = match address {
        SocketAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_IP),
        SocketAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_IPV6),
    };
    // SAFETY: plain system calls on a descriptor that `UdpSocket` owns from here on.
    let socket = unsafe {
        let descriptor = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        UdpSocket::from_raw_fd(descriptor)
    };
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    if address.is_ipv6() {
        set(&socket, level, libc::IPV6_V6ONLY, 1)?;
    }
    adopt(&socket, address, timeout)?;
    let mut storage = Storage::of(address);
    // SAFETY: `storage` holds an address of the length given.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw mut storage.octets).cast(), storage.length) };
    if bound < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket)
}

/// Sets what a socket of ours needs but for what must be set before it is bound.
pub(super) fn adopt(socket: &UdpSocket, address: SocketAddr, timeout: std::time::Duration) -> io::Result<()> {
    let level = match address {
        SocketAddr::V4(_) => libc::IPPROTO_IP,
        SocketAddr::V6(_) => libc::IPPROTO_IPV6,
    };
    // The kernel caps these at its own limits; less is no error.
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, SOCKET_BUFFER)?;
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, SOCKET_BUFFER)?;
    match address {
        SocketAddr::V4(_) => {
            set(socket, level, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_OMIT)?;
            if address.ip().is_unspecified() {
                set(socket, level, libc::IP_PKTINFO, 1)?;
            }
        }
        SocketAddr::V6(_) => {
            set(socket, level, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_OMIT)?;
            if address.ip().is_unspecified() {
                set(socket, level, libc::IPV6_RECVPKTINFO, 1)?;
            }
        }
    }
    socket.set_read_timeout(Some(timeout))
}

fn set(socket: &UdpSocket, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the value is an int, as all of these options take.
    let result = unsafe {
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, size_of::<libc::c_int>() as libc::socklen_t)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

struct Storage {
    octets: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Storage {
    fn of(address: SocketAddr) -> Storage {
        // SAFETY: sockaddr_storage is large and aligned enough for both forms, and zero is valid for all of them.
        unsafe {
            let mut octets: libc::sockaddr_storage = zeroed();
            let length = match address {
                SocketAddr::V4(v4) => {
                    let out: &mut libc::sockaddr_in = &mut *(&raw mut octets).cast();
                    out.sin_family = libc::AF_INET as libc::sa_family_t;
                    out.sin_port = v4.port().to_be();
                    out.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                    size_of::<libc::sockaddr_in>()
                }
                SocketAddr::V6(v6) => {
                    let out: &mut libc::sockaddr_in6 = &mut *(&raw mut octets).cast();
                    out.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                    out.sin6_port = v6.port().to_be();
                    out.sin6_addr.s6_addr = v6.ip().octets();
                    out.sin6_scope_id = v6.scope_id();
                    size_of::<libc::sockaddr_in6>()
                }
            };
            Storage { octets, length: length as libc::socklen_t }
        }
    }
}

#[inline]
fn address(storage: &libc::sockaddr_storage) -> SocketAddr {
    // SAFETY: the family says which form the kernel wrote; both fit into the storage.
    unsafe {
        match i32::from(storage.ss_family) {
            libc::AF_INET6 => {
                let v6: &libc::sockaddr_in6 = &*(&raw const *storage).cast();
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                SocketAddr::V6(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), 0, v6.sin6_scope_id))
            }
            libc::AF_INET => {
                let v4: &libc::sockaddr_in = &*(&raw const *storage).cast();
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)))
            }
            _ => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        }
    }
}

// SAFETY: the raw pointers point into the Batch's own boxes, which move with it to another thread.
unsafe impl Send for Batch {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn option(socket: &UdpSocket, level: libc::c_int, name: libc::c_int) -> libc::c_int {
        let (mut value, mut length) = (-1, size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the option is an int, and so is the value.
        let result =
            unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) };
        assert_eq!(result, 0);
        value
    }

    #[test]
    fn z4_path_mtu_messages_are_ignored_on_sockets_of_both_families() {
        let v4 = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Duration::from_secs(1)).expect("a socket");
        assert_eq!(option(&v4, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER), libc::IP_PMTUDISC_OMIT);
        // A machine without IPv6 has no such socket.
        if let Ok(v6) = bind(SocketAddr::from((Ipv6Addr::LOCALHOST, 0)), Duration::from_secs(1)) {
            assert_eq!(option(&v6, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER), libc::IPV6_PMTUDISC_OMIT);
        }
    }

    #[test]
    fn z5_a_reply_too_large_for_the_path_goes_again_cut_to_its_question_and_the_others_go_whole() {
        const TOO_LARGE: usize = 65_530;
        let server = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Duration::from_secs(5)).expect("a socket");
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        client.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
        client.connect(server.local_addr().expect("an address")).expect("a way");
        let question = b"\x01a\x07example\0\0\x01\0\x01";
        let mut query = vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        query.extend_from_slice(question);
        let mut batch = Batch::new(TOO_LARGE, false);
        for asked in [TOO_LARGE, query.len(), TOO_LARGE] {
            client.send(&query).expect("sent");
            assert_eq!(batch.receive(&server).expect("a query"), 1);
            let (octets, _, out) = batch.message(0);
            let octets = octets.to_vec();
            out[..octets.len()].copy_from_slice(&octets);
            (out[2], out[7]) = (0x84, 1);
            batch.queue_reply(0, asked);
            assert_eq!(batch.send(&server), 0);
            let mut reply = vec![0; TOO_LARGE];
            let length = client.recv(&mut reply).expect("a reply");
            assert_eq!(length, query.len());
            let (cut, answers) = (reply[2] & 2 != 0, reply[7]);
            assert_eq!((cut, answers), if asked == TOO_LARGE { (true, 0) } else { (false, 1) });
        }
    }
}
