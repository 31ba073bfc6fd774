//! The rules of sockets (answers.md section 7, H12): what a client may do to a connection, and what it may not do to others.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use super::dns::query;
use super::server::{Server, run};

/// How long a reply may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// A message that was begun must be whole by then.
const WHOLE: Duration = Duration::from_secs(5);

/// Small names, an RRset of over 50,000 octets, one of over 60,000 in all types together, and an ALIAS of a target that is
/// nowhere in this server.
const ZONE: &str = "$TTL 300
@ SOA ns host 1 2 3 4 5
@ NS ns
ns A 192.0.2.1
www A 192.0.2.2
$GENERATE 1-220 large TXT \"${0,240}\"
$GENERATE 1-800 both TYPE65280 \\# 50 ${0,100}
$GENERATE 1-100 both TXT \"${0,240}\"
away ALIAS away.example.net.
";

fn start(folder: &Path, settings: &str, arguments: &[&str]) -> Server {
    let zones = folder.join("zones");
    std::fs::create_dir(&zones).expect("a folder");
    std::fs::write(zones.join("example.com.zone"), ZONE).expect("a zone");
    std::fs::write(folder.join("tenured.toml"), settings).expect("a file");
    Server::start(folder, &[&["--zones", "zones"], arguments].concat())
}

fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream.set_nodelay(true).expect("an option");
    stream
}

/// A connection from an address of its own.
fn connect_from(source: &str, server: SocketAddr) -> TcpStream {
    let source: SocketAddr = format!("{source}:0").parse().expect("an address");
    let stream = run(async move {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(source).expect("an address of this machine");
        socket.connect(server).await.expect("a connection").into_std().expect("a stream")
    });
    stream.set_nonblocking(false).expect("an option");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream
}

/// A message as TCP carries it.
fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

fn read_reply(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).expect("a length");
    let mut reply = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut reply).expect("a reply");
    reply
}

/// Sends a query and takes its reply.
fn exchange(stream: &mut TcpStream, message: &[u8]) -> Vec<u8> {
    stream.write_all(&framed(message)).expect("room");
    let reply = read_reply(stream);
    assert_eq!(reply[..2], message[..2]);
    reply
}

fn rcode(reply: &[u8]) -> u8 {
    reply[3] & 15
}

/// Whether the server has closed, or closes within the stream's time-out: there is nothing more to read.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

/// Whether the connection still answers.
fn is_open(stream: &mut TcpStream) -> bool {
    let message = framed(&query("www.example.com", "A"));
    stream.write_all(&message).is_ok() && matches!(stream.read(&mut [0; 512]), Ok(1..))
}

/// A UDP exchange by a socket that takes datagrams from this address alone.
fn udp(server: SocketAddr, message: &[u8]) -> Vec<u8> {
    let local = if server.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
    let socket = UdpSocket::bind(local).expect("a socket");
    socket.connect(server).expect("an address");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    socket.send(message).expect("sent");
    let mut buffer = vec![0; 65_535];
    let length = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("no reply from {server}: {error}"));
    buffer.truncate(length);
    assert_eq!(buffer[..2], message[..2]);
    buffer
}

/// A query with an OPT of 4,096 octets and these options.
fn query_with(name: &str, options: &[u8]) -> Vec<u8> {
    let mut message = query(name, "A");
    let at = message.len() - 8;
    message[at..at + 2].copy_from_slice(&4_096_u16.to_be_bytes());
    let at = message.len() - 2;
    message[at..].copy_from_slice(&(options.len() as u16).to_be_bytes());
    message.extend_from_slice(options);
    message
}

/// Resident memory in KiB.
fn resident(server: &Server) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("a process");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// Addresses that the server says it listens on.
fn addresses(server: &Server) -> Vec<SocketAddr> {
    let words = server.greeting.iter().filter_map(|line| line.strip_prefix("dns"));
    words.map(|rest| rest.split_whitespace().next().expect("an address").parse().expect("an address")).collect()
}

#[test]
fn t1_tcp_answers_on_each_address_that_has_udp() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &["--dns", "127.0.0.2:0", "--dns", "127.0.0.3:0"]);
    let addresses = addresses(&server);
    assert_eq!(addresses.len(), 3);
    for address in addresses {
        let message = query("www.example.com", "A");
        let over_udp = udp(address, &message);
        assert_eq!(exchange(&mut connect(address), &message), over_udp, "{address}");
    }
}

#[test]
fn t2_t3_queries_are_answered_however_they_are_cut_into_segments() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let mut stream = connect(server.dns);
    let mut asked = BTreeSet::new();
    let mut octets = Vec::new();
    for _ in 0..500 {
        let message = query("www.example.com", "A");
        asked.insert(message[..2].to_vec());
        octets.extend_from_slice(&framed(&message));
    }
    stream.write_all(&octets).expect("room");
    for _ in 0..500 {
        let reply = read_reply(&mut stream);
        assert_eq!(rcode(&reply), 0);
        assert!(asked.remove(&reply[..2]), "each is answered once");
    }
    for _ in 0..2 {
        let message = query("www.example.com", "A");
        for octet in framed(&message) {
            stream.write_all(&[octet]).expect("room");
        }
        assert_eq!(read_reply(&mut stream)[..2], message[..2]);
    }
}

#[test]
fn t4_a_query_with_fin_behind_it_is_answered_and_then_the_connection_closes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let mut stream = connect(server.dns);
    let message = query("large.example.com", "TXT");
    stream.write_all(&framed(&message)).expect("room");
    stream.shutdown(Shutdown::Write).expect("a FIN");
    let reply = read_reply(&mut stream);
    assert!(reply.len() > 50_000 && reply[..2] == message[..2]);
    assert!(is_closed(&mut stream));
}

#[test]
fn t5_a_message_that_is_begun_has_five_seconds_from_its_first_octet_not_from_its_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let mut stream = connect(server.dns);
    // A query before it, in the same segment as the first octet, is answered and gives no more time.
    let message = query("www.example.com", "A");
    let begun = Instant::now();
    stream.write_all(&[&framed(&message)[..], &[0]].concat()).expect("room");
    assert_eq!(rcode(&read_reply(&mut stream)), 0);
    // One octet of the next message twice a second: each is news, and the message is never whole.
    stream.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
    for octet in std::iter::once(200).chain(std::iter::repeat(7)) {
        if is_closed(&mut stream) {
            break;
        }
        assert!(begun.elapsed() < 3 * WHOLE, "it is kept");
        // It may close at any time.
        let _ = stream.write_all(&[octet]);
    }
    assert!(begun.elapsed() > WHOLE - Duration::from_millis(500), "closed after {:?}", begun.elapsed());
    assert!(begun.elapsed() < WHOLE + PATIENCE / 2, "closed after {:?}", begun.elapsed());
}

#[test]
fn t5_e14_an_idle_connection_closes_after_the_time_that_keepalive_tells() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "[dns]\ntcp_idle = 1\n", &[]);
    let mut stream = connect(server.dns);
    let keepalive = [0, 11, 0, 0];
    let reply = exchange(&mut stream, &query_with("www.example.com", &keepalive));
    assert!(reply.ends_with(&[0, 11, 0, 2, 0, 10]), "1 s in units of 100 ms: {reply:?}");
    assert!(is_closed(&mut stream), "it is idle");
    let reply = udp(server.dns, &query_with("www.example.com", &keepalive));
    assert!(!reply.windows(4).any(|octets| octets == [0, 11, 0, 2]), "keepalive over UDP");
}

#[test]
fn e14_keepalive_is_thirty_seconds_by_default_and_ten_above_half_of_all_connections() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "[dns]\ntcp_connections = 3\n", &[]);
    let message = query_with("www.example.com", &[0, 11, 0, 0]);
    let mut first = connect(server.dns);
    assert!(exchange(&mut first, &message).ends_with(&[0, 11, 0, 2, 1, 44]), "30 s");
    let mut second = connect(server.dns);
    assert!(exchange(&mut second, &message).ends_with(&[0, 11, 0, 2, 0, 100]), "10 s");
    assert!(exchange(&mut first, &message).ends_with(&[0, 11, 0, 2, 0, 100]), "10 s");
}

#[test]
fn t6_length_and_message_come_in_one_segment() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let mut stream = connect(server.dns);
    for _ in 0..20 {
        stream.write_all(&framed(&query("www.example.com", "A"))).expect("room");
        let mut buffer = [0; 2_048];
        let length = stream.read(&mut buffer).expect("a segment");
        assert!(length > 14);
        assert_eq!(length, 2 + usize::from(u16::from_be_bytes([buffer[0], buffer[1]])));
    }
}

#[test]
fn t8_a_message_that_is_formerr_keeps_the_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let mut stream = connect(server.dns);
    for broken in [&[7, 7, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0][..], &[7, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12]] {
        assert_eq!(rcode(&exchange(&mut stream, broken)), 1);
    }
    // A reply as a message is answered by nothing, and ends nothing.
    stream.write_all(&framed(&[7, 7, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0])).expect("room");
    assert_eq!(rcode(&exchange(&mut stream, &query("www.example.com", "A"))), 0);
}

#[test]
fn t9_a_length_below_that_of_a_header_closes_once_what_came_before_is_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    for length in 0..12_u8 {
        let mut stream = connect(server.dns);
        let message = framed(&query("www.example.com", "A"));
        stream.write_all(&[&message[..], &[0, length]].concat()).expect("room");
        assert_eq!(rcode(&read_reply(&mut stream)), 0);
        assert!(is_closed(&mut stream), "{length}");
    }
}

#[test]
fn t10_replies_are_whole_up_to_65535_octets_and_above_cut_at_an_rrset() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let mut stream = connect(server.dns);
    let reply = exchange(&mut stream, &query("large.example.com", "TXT"));
    assert_eq!((reply[2] & 2, u16::from_be_bytes([reply[6], reply[7]])), (0, 220));
    let reply = exchange(&mut stream, &query("both.example.com", "ANY"));
    let count = u16::from_be_bytes([reply[6], reply[7]]);
    assert_eq!(reply[2] & 2, 2, "TC");
    assert!([0, 100, 800].contains(&count), "{count} records are no whole RRsets");
    assert_eq!(rcode(&exchange(&mut stream, &query("www.example.com", "A"))), 0);
}

#[test]
fn t11_who_does_not_read_is_cut_off_and_holds_little_memory_while_others_are_answered() {
    const READERS: usize = 40;
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let before = resident(&server);
    let begun = Instant::now();
    let mut readers: Vec<TcpStream> = (0..READERS).map(|_| connect(server.dns)).collect();
    let message = framed(&query("large.example.com", "TXT")).repeat(1_000);
    for stream in &mut readers {
        stream.set_nonblocking(true).expect("an option");
        // 50 MB of replies each, which nobody reads.
        let _ = stream.write(&message);
    }
    assert_eq!(rcode(&udp(server.dns, &query("www.example.com", "A"))), 0);
    assert_eq!(rcode(&exchange(&mut connect(server.dns), &query("www.example.com", "A"))), 0);
    let held = resident(&server).saturating_sub(before);
    // Write buffer, read buffer and some for the allocator.
    assert!(held < READERS as u64 * 300 + 8 * 1024, "{held} KiB for {READERS} readers");
    // Still nobody reads: what tells that a connection is gone is that it takes no more queries.
    let mut open = readers;
    while !open.is_empty() {
        open.retain_mut(|stream| match stream.write(&message) {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        });
        assert!(begun.elapsed() < WHOLE + 2 * PATIENCE, "{} are kept", open.len());
        udp(server.dns, &query("www.example.com", "A"));
    }
    assert!(begun.elapsed() > WHOLE - Duration::from_millis(500), "cut off after {:?}", begun.elapsed());
}

#[test]
fn t7_idle_connections_cost_little_and_do_not_hurt_others() {
    const IDLE: u64 = 2_000;
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    udp(server.dns, &query("www.example.com", "A"));
    let before = resident(&server);
    let mut idle: Vec<TcpStream> = (0..IDLE).map(|_| connect(server.dns)).collect();
    // One round trip behind the last of them: all are accepted.
    for stream in idle.iter_mut().rev().step_by(100) {
        assert_eq!(rcode(&exchange(stream, &query("www.example.com", "A"))), 0);
    }
    let held = resident(&server).saturating_sub(before);
    let mut times: Vec<Duration> = (0..500)
        .map(|_| {
            let sent = Instant::now();
            udp(server.dns, &query("www.example.com", "A"));
            sent.elapsed()
        })
        .collect();
    times.sort();
    println!("{IDLE} idle connections: {held} KiB, UDP median {:?}, p99 {:?}", times[250], times[495]);
    assert!(held < IDLE * 8, "{held} KiB");
    // Of a busy machine's making, not of the connections'.
    assert!(times[250] < Duration::from_millis(50), "{:?}", times[250]);
    assert!(is_open(&mut idle[0]) && is_open(&mut connect(server.dns)));
}

#[test]
fn t7_at_the_limit_of_a_client_its_own_longest_idle_connection_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "[dns]\ntcp_per_client = 3\n", &[]);
    let mut other = connect_from("127.0.0.9", server.dns);
    assert!(is_open(&mut other));
    let mut own: Vec<TcpStream> = (0..3).map(|_| connect(server.dns)).collect();
    // At the limit all stay; the second is then the longest idle.
    for at in [1, 0, 2] {
        assert!(is_open(&mut own[at]));
    }
    let mut fourth = connect(server.dns);
    assert!(is_open(&mut fourth));
    assert!(is_closed(&mut own[1]));
    assert!(is_open(&mut own[0]) && is_open(&mut own[2]) && is_open(&mut fourth) && is_open(&mut other));
}

#[test]
fn t7_at_the_limit_of_all_the_longest_idle_connection_goes_and_who_is_busy_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "[dns]\ntcp_connections = 10\n", &[]);
    let mut busy = connect(server.dns);
    assert!(is_open(&mut busy));
    let mut idle = Vec::new();
    for number in 0..50 {
        idle.push(connect_from(&format!("127.0.0.{}", 10 + number), server.dns));
        assert!(is_open(idle.last_mut().expect("one")), "{number}: a new one has a place");
        assert!(is_open(&mut busy), "{number}");
    }
    assert!(idle[..41].iter_mut().all(is_closed));
    assert!(idle[41..].iter_mut().all(is_open));
    assert_eq!(rcode(&udp(server.dns, &query("www.example.com", "A"))), 0);
}

#[test]
fn h12_a_reply_leaves_from_the_address_that_was_asked_on_a_wildcard_socket_too() {
    let folder = tempfile::tempdir().expect("a folder");
    // Takes queries for targets and says nothing.
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let upstream = silent.local_addr().expect("an address").to_string();
    let has_v6 = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    let mut arguments = vec!["--dns", "0.0.0.0:0", "--upstream", &upstream];
    if has_v6 {
        arguments.extend(["--dns", "[::]:0"]);
    } else {
        eprintln!("no IPv6 here: [::] was not asked");
    }
    let server = start(folder.path(), "", &arguments);
    for address in addresses(&server).into_iter().filter(|address| address.ip().is_unspecified()) {
        let asked: &[&str] = if address.is_ipv4() { &["127.0.0.1", "127.0.0.2", "127.1.2.3"] } else { &["::1"] };
        for ip in asked {
            let address = SocketAddr::new(ip.parse().expect("an address"), address.port());
            // Each socket takes a reply from this address alone.
            assert_eq!(rcode(&udp(address, &query("www.example.com", "A"))), 0, "{address}");
            assert_eq!(rcode(&exchange(&mut connect(address), &query("www.example.com", "A"))), 0, "{address}");
            // One that has to wait for its target first.
            assert_eq!(rcode(&udp(address, &query("away.example.com", "A"))), 2, "{address}");
        }
    }
}

#[test]
fn a_message_over_4096_octets_is_formerr_over_udp_and_none_over_tcp() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), "", &[]);
    let plain = query_with("www.example.com", &[]).len();
    for (octets, wanted) in [(4_096, 0), (4_097, 1), (9_000, 1), (60_000, 1)] {
        let padding = octets - plain - 4;
        let option = [&[0, 12][..], &(padding as u16).to_be_bytes(), &vec![0; padding]].concat();
        let message = query_with("www.example.com", &option);
        assert_eq!(message.len(), octets);
        assert_eq!(rcode(&udp(server.dns, &message)), wanted, "{octets}");
        assert_eq!(rcode(&exchange(&mut connect(server.dns), &message)), 0, "{octets}");
    }
}

#[test]
fn queries_that_wait_for_a_target_are_bounded_and_each_gets_a_reply() {
    let folder = tempfile::tempdir().expect("a folder");
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let upstream = silent.local_addr().expect("an address").to_string();
    let server = start(folder.path(), "", &["--upstream", &upstream]);
    let mut stream = connect(server.dns);
    let mut asked = BTreeSet::new();
    let mut octets = Vec::new();
    // More than may wait at a time, then one that needs not wait, and a FIN.
    for name in std::iter::repeat_n("away.example.com", 300).chain(["www.example.com"]) {
        let message = query(name, "A");
        asked.insert(message[..2].to_vec());
        octets.extend_from_slice(&framed(&message));
    }
    stream.write_all(&octets).expect("room");
    stream.shutdown(Shutdown::Write).expect("a FIN");
    for _ in 0..301 {
        assert!(asked.remove(&read_reply(&mut stream)[..2]), "each is answered once");
    }
    assert!(is_closed(&mut stream));
}
