//! What changed, followed and undone.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::service::Service;
use super::{ask, ask_with};

#[test]
fn a_change_is_followed_and_undone() {
    let service = Service::with_zone();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tenured"))
        .args(["history", "--follow", "--since", "0"])
        .current_dir(service.folder.path())
        .env_clear()
        .env("TENURED_URL", format!("http://{}", service.http))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines().map_while(Result::ok);
    let set = ask(&service, &["record", "set", "www.example.com", "A", "192.0.2.1", "--owner", "team-a"]);
    assert_eq!(set.code, 0, "{set:?}");
    let line = lines.find(|line| line.contains("www.example.com.")).expect("the change");
    child.kill().expect("it runs until it is told to end");
    child.wait().expect("its end");
    assert!(line.ends_with("team-a www.example.com. A: + 192.0.2.1 300 s"), "{line}");
    let revision = line.split(' ').next().expect("a revision");
    let undone = ask(&service, &["revert", revision]);
    assert_eq!(undone.code, 0, "{undone:?}");
    let list = ask_with(&service, &["record", "list", "--owner", "team-a"], "");
    assert_eq!(list.out, "", "{list:?}");
    assert_eq!(ask(&service, &["revert", "9999"]).code, 3);
}
