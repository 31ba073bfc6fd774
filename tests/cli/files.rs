//! Commands without a server: checks of files, usage, and a server that is not there.

use std::process::{Command, Stdio};

use super::run;

#[test]
fn a_check_of_files_names_each_fault_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = "@ 300 IN SOA ns hostmaster 7 7200 900 1209600 300\n@ 300 NS ns\nns 300 A 192.0.2.1\n";
    std::fs::write(folder.path().join("example.com.zone"), good).expect("a file");
    std::fs::write(folder.path().join("bad.example.zone"), format!("{good}www 300 A 192.0.2\n")).expect("a file");
    let ran = run(folder.path(), &[], &["zone", "check", "example.com.zone"], "");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "FILE              ZONE          RECORDS  WARNINGS\nexample.com.zone  example.com.  3        0\n"),
        "{ran:?}"
    );
    let ran = run(folder.path(), &[], &["zone", "check", "bad.example.zone", "missing.zone"], "");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("error: bad.example.zone:4: ") && ran.err.contains("missing.zone: "), "{ran:?}");
    let ran =
        run(folder.path(), &[], &["zone", "check", "--origin", "example.net", "example.com.zone", "-o", "name"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "example.net.\n"), "{ran:?}");
}

#[test]
fn usage_is_2_and_help_is_0() {
    let folder = tempfile::tempdir().expect("a folder");
    let code = |arguments: &[&str]| run(folder.path(), &[], arguments, "").code;
    for arguments in [
        &["nonsense"][..],
        &["record", "set", "www.example.com", "A"],
        &["serve", "--dns", "nowhere"],
        &["apply", "--owner", "x"],
        &["--url", "ftp://x", "zone", "list"],
        &["--config", "missing.toml", "zone", "list"],
    ] {
        assert_eq!(code(arguments), 2, "{arguments:?}");
    }
    assert_eq!(code(&["--help"]), 0);
    assert_eq!(code(&["--version"]), 0);
    std::fs::write(folder.path().join("tenured.toml"), "[http]\nlisten = \"127.0.0.1:1\"\n\n[dsn]\n").expect("a file");
    for command in [&["serve"][..], &["zone", "list"]] {
        let ran = run(folder.path(), &[], command, "");
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("tenured.toml:4: unknown key `dsn`"), "{ran:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_6_and_its_place_is_that_of_the_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    // A port that was free a moment ago and that nothing listens on.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let text = format!("[http]\nlisten = \"0.0.0.0:{port}\"\n[store]\npath = \"names.db\"\n");
    std::fs::write(folder.path().join("tenured.toml"), text).expect("a file");
    std::fs::write(folder.path().join("names.db.token"), "tnd_a_b\n").expect("a file");
    let ran = run(folder.path(), &[], &["zone", "list"], "");
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.err.contains(&format!("http://127.0.0.1:{port}")) && ran.err.contains("tenured serve"), "{ran:?}");
}

#[test]
fn a_reader_that_is_gone_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tenured"))
        .args(["version"])
        .env_clear()
        .env("TENURED_URL", "http://127.0.0.1:1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("its end");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_store_that_is_no_database_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("garbage.db"), "no database ".repeat(1_000)).expect("a file");
    let arguments = ["serve", "--db", "garbage.db", "--http", "127.0.0.1:0", "--dns", "127.0.0.1:0"];
    let ran = super::run(folder.path(), &[], &arguments, "");
    assert!(ran.code == 1 && ran.err.contains("garbage.db: the store cannot be used"), "{ran:?}");
}
