//! Faults of the machine under a running server: answers go on, the API says what it cannot do, an alarm says what to do,
//! and all heals without a restart. Each row of the table of faults in docs/operations.md is a test here, in `last_good`,
//! `encrypted`, `alias_upstreams` or `crash`.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use super::dns::query;
use super::server::{Server, eventually};

/// Asks a known name 200 times a second, and counts what was not answered rightly.
struct Client {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<()>,
}

impl Client {
    fn start(server: SocketAddr) -> Client {
        let (stop, asked, failed) = (Arc::new(AtomicBool::new(false)), Arc::default(), Arc::default());
        let (own, count, wrong): (_, Arc<AtomicU64>, Arc<AtomicU64>) =
            (stop.clone(), Arc::clone(&asked), Arc::clone(&failed));
        let thread = std::thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            socket.connect(server).expect("connected");
            socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a time-out");
            let mut buffer = [0; 512];
            while !own.load(Ordering::Relaxed) {
                let octets = query("known.example.com", "A");
                let good = socket.send(&octets).is_ok()
                    && socket.recv(&mut buffer).is_ok_and(|length| {
                        buffer[..2] == octets[..2]
                            && buffer[3] & 15 == 0
                            && buffer[..length].windows(4).any(|four| four == [192, 0, 2, 99])
                    });
                count.fetch_add(1, Ordering::Relaxed);
                wrong.fetch_add(u64::from(!good), Ordering::Relaxed);
                // The pace of a client, not a wait for something.
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        Client { stop, asked, failed, thread }
    }

    /// All were answered, and there were enough of them.
    fn finish(self) {
        eventually(10, "enough questions", || self.asked.load(Ordering::Relaxed), |asked| *asked > 20);
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the client");
        let (asked, failed) = (self.asked.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed));
        assert!(asked > 20 && failed == 0, "{failed} of {asked} answers failed");
    }
}

fn set(server: &Server, name: &str, address: &str) -> (u16, serde_json::Value) {
    let body = json!({"ttl": 60, "values": [address]});
    server.api("PUT", &format!("/v1/owners/team-a/records/{name}.example.com./A"), Some(body))
}

fn start(folder: &Path) -> Server {
    let server = Server::start(folder, &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    assert_eq!(set(&server, "known", "192.0.2.99").0, 200);
    server
}

/// Writes are refused with a code that says why, and the alarm is on with a sentence that has these words.
fn refuses(server: &Server, words: &str) {
    let refused = eventually(20, "a refusal", || set(server, "new", "192.0.2.7"), |(status, _)| *status == 503);
    assert_eq!(refused.1["code"], "storage_unavailable", "{refused:?}");
    let ready = eventually(15, "the alarm", || server.ready(), |text| text.contains("[!] store_un"));
    assert!(ready.starts_with("ready\n") && ready.contains("degraded") && ready.contains(words), "{ready}");
}

/// The alarm goes without anybody writing, and writes are taken again.
fn heals(server: &Server) {
    eventually(20, "no alarm", || server.ready(), |text| !text.contains("[!] store_un"));
    assert_eq!(set(server, "new", "192.0.2.7").0, 200);
    assert_eq!(server.ask_both("new.example.com", "A").data(), ["192.0.2.7"]);
}

/// A small file system of its own; goes away when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new() -> SmallDisk {
        let disk = SmallDisk(tempfile::tempdir().expect("a folder"));
        run("mount", &["-t", "tmpfs", "-o", "size=8m", "tmpfs", disk.path()]);
        disk
    }

    fn path(&self) -> &str {
        self.0.path().to_str().expect("a text")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", self.path()]).status();
    }
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(status.success(), "{program} {arguments:?}: {status}; these tests run as root, as CI does");
}

#[test]
fn a_full_disk_refuses_writes_and_nothing_else() {
    let disk = SmallDisk::new();
    let server = start(Path::new(disk.path()));
    let client = Client::start(server.dns);
    let filler = disk.0.path().join("filler");
    let mut file = std::fs::File::create(&filler).expect("a file");
    // Until nothing more goes in, octet by octet at the end.
    let _ = std::io::copy(&mut std::io::repeat(7), &mut file);
    refuses(&server, "full");
    eventually(15, "the alarm of the disk", || server.ready(), |text| text.contains("[!] disk_space: 0 MiB are free"));
    // A file that is open keeps its room.
    drop(file);
    std::fs::remove_file(&filler).expect("room again");
    heals(&server);
    eventually(15, "no alarm", || server.ready(), |text| !text.contains("[!]"));
    client.finish();
}

#[test]
fn on_a_read_only_file_system_the_last_good_file_is_served_until_it_can_be_written() {
    let disk = SmallDisk::new();
    start(Path::new(disk.path())).interrupt();
    run("mount", &["-o", "remount,ro", disk.path()]);
    let server = Server::start(Path::new(disk.path()), &[]);
    let client = Client::start(server.dns);
    refuses(&server, "Read-only file system");
    run("mount", &["-o", "remount,rw", disk.path()]);
    heals(&server);
    client.finish();
}

#[test]
fn a_store_that_is_deleted_or_replaced_takes_no_write_that_nobody_finds_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path());
    let client = Client::start(server.dns);
    let (store, away) = (folder.path().join("tenured.db"), folder.path().join("away"));
    std::fs::rename(&store, &away).expect("it goes");
    // Nobody writes: the alarm comes all the same.
    eventually(15, "the alarm", || server.ready(), |text| text.contains("was deleted or replaced"));
    refuses(&server, "put the file back");
    std::fs::copy(&away, &store).expect("a copy");
    refuses(&server, "was deleted or replaced");
    std::fs::rename(&away, &store).expect("the file itself");
    heals(&server);
    client.finish();
}

#[test]
fn a_store_with_broken_pages_loses_no_answer_and_no_acknowledged_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path());
    let client = Client::start(server.dns);
    let store = folder.path().join("tenured.db");
    // What stands in the write-ahead log goes into the file first, so that the file is what is read.
    server.interrupt();
    client.stop.store(true, Ordering::Relaxed);
    let _ = client.thread.join();
    let good = std::fs::read(&store).expect("the store");
    let server = Server::start(folder.path(), &[]);
    let client = Client::start(server.dns);
    let mut broken = good.clone();
    for page in (4096..broken.len()).step_by(4096) {
        broken[page..page + 64].fill(0xA5);
    }
    overwrite(&store, &broken);
    let (status, _) = set(&server, "new", "192.0.2.7");
    assert!(matches!(status, 200 | 503), "{status}");
    if status == 503 {
        refuses(&server, "store");
    }
    overwrite(&store, &good);
    eventually(20, "writes", || set(&server, "new", "192.0.2.8").0, |status| *status == 200);
    eventually(20, "no alarm", || server.ready(), |text| !text.contains("[!] store_un"));
    client.finish();
}

/// Writes into the file that is there, as a failing disk would.
fn overwrite(path: &Path, octets: &[u8]) {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().write(true).open(path).expect("the file");
    file.write_all(octets).expect("octets");
}

#[test]
fn without_descriptors_udp_goes_on_and_connections_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path());
    let client = Client::start(server.dns);
    // Connections until there are no descriptors left; those beyond wait in the kernel's queue.
    let held: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(server.dns).expect("a connection")).collect();
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.id())).expect("its descriptors").count() as u64;
    server.limit_descriptors(open.saturating_sub(20).max(10));
    let answered = client.asked.load(Ordering::Relaxed);
    eventually(10, "answers over UDP", || client.asked.load(Ordering::Relaxed), |asked| *asked > answered + 100);
    server.limit_descriptors(open + 2);
    eventually(20, "the alarm", || server.ready(), |text| text.contains("[!] file_descriptors"));
    server.limit_descriptors(10_000);
    drop(held);
    eventually(20, "no alarm", || server.ready(), |text| !text.contains("[!]"));
    assert_eq!(set(&server, "new", "192.0.2.7").0, 200);
    client.finish();
}
