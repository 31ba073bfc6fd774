//! `tenured config`: what is wrong where, and where each value comes from.

use super::run;

#[test]
fn check_names_file_line_key_and_what_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |text: &str| std::fs::write(folder.path().join("tenured.toml"), text).expect("a file");
    let check = |variables: &[(&str, &str)], more: &[&str]| {
        run(folder.path(), variables, &[&["config", "check"], more].concat(), "")
    };
    let good = check(&[], &[]);
    assert_eq!((good.code, good.out.as_str()), (0, "the configuration is in order\n"), "{}", good.err);
    for (text, parts) in [
        ("[dns]\nlitsen = 1\n", &["tenured.toml:2", "litsen", "listen"][..]),
        ("[dns]\n\nedns_size = 9\n", &["tenured.toml:3", "dns.edns_size", "512 to 4096"]),
        ("[alias.owners.\"\"]\nallow = []\n", &["alias.owners"]),
        ("[tls]\ncertificate = \"none.pem\"\nkey = \"none.key\"\n", &["none.pem"]),
        ("[dns.cookies]\nsecret = \"0123456789\"\n", &["dns.cookies.secret", "32 hexadecimal digits"]),
    ] {
        write(text);
        let bad = check(&[], &[]);
        assert_eq!(bad.code, 2, "{text}: {} {}", bad.out, bad.err);
        assert!(parts.iter().all(|part| bad.err.contains(part)), "{text}: {}", bad.err);
        assert!(!bad.err.contains("0123456789"), "a secret is repeated: {}", bad.err);
    }
    write("");
    let bad = check(&[("TENURED_DNS__ANY", "some")], &[]);
    assert!(bad.code == 2 && bad.err.contains("TENURED_DNS__ANY") && bad.err.contains("minimal"), "{}", bad.err);
    let bad = check(&[], &["--dns", "nowhere"]);
    assert!(bad.code == 2 && bad.err.contains("--dns"), "{}", bad.err);
    let bad = run(folder.path(), &[], &["--config", "other.toml", "config", "check"], "");
    assert!(bad.code == 2 && bad.err.contains("other.toml"), "{}", bad.err);
}

#[test]
fn show_says_where_each_value_comes_from_and_shows_no_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[dns]\nnsid = \"ns1\"\n[dns.cookies]\nsecret = \"e5e973e5a6b2a43f48e7dc849e37bfcf\"\n";
    std::fs::write(folder.path().join("tenured.toml"), text).expect("a file");
    let variables = [("TENURED_LOG__QUERIES", "100")];
    let arguments = ["config", "show", "--http", "127.0.0.1:9000", "--db", "x.db"];
    let shown = run(folder.path(), &variables, &arguments, "");
    assert_eq!(shown.code, 0, "{}", shown.err);
    for line in [
        "dns.nsid = \"ns1\"  # tenured.toml:2\n",
        "dns.cookies.secret = (secret)  # tenured.toml:4\n",
        "log.queries = 100  # environment variable TENURED_LOG__QUERIES\n",
        "http.listen = \"127.0.0.1:9000\"  # flag\n",
        "store.path = \"x.db\"  # flag\n",
        "dns.edns_size = 1232  # default\n",
        "# tls.certificate is not set\n",
    ] {
        assert!(shown.out.contains(line), "{line} is not in:\n{}", shown.out);
    }
    assert!(!shown.out.contains("e5e973"), "{}", shown.out);
    let json = run(folder.path(), &variables, &[&arguments[..], &["-o", "json"]].concat(), "");
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert!(json.as_array().is_some_and(|all| all.iter().any(|one| one["value"] == "(secret)")), "{json}");
}
