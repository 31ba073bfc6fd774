//! Commands that ask a server.

use super::service::Service;
use super::{ask, ask_with, run};

#[test]
fn a_zone_a_record_and_its_owner_come_and_go() {
    let service = Service::start();
    let ran = ask(&service, &["zone", "list"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.contains("tenured zone create"), "{ran:?}");
    let ran = ask(&service, &["zone", "create", "example.com"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("name            example.com.\n"), "{ran:?}");
    let ran = ask(&service, &["zone", "list"]);
    assert_eq!(
        ran.out,
        "NAME          RECORDS  SERIAL      OWNER\nexample.com.  2        2026113001  zone:example.com.\n"
    );
    let ran = ask(&service, &["record", "set", "www.example.com", "A", "192.0.2.2", "192.0.2.1", "--ttl", "60"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.out, "NAME              TYPE  OUTCOME  NOTE\nwww.example.com.  A     created\n");
    assert!(ran.err.contains("owner zone:example.com.\n") && ran.err.contains("1 created; example.com. is at serial"));
    let ran = ask(&service, &["record", "list", "--type", "a"]);
    assert_eq!(
        ran.out,
        "NAME              TYPE  TTL  OWNER              STATE  VALUE\n\
         www.example.com.  A     60   zone:example.com.  held   192.0.2.1\n\
         www.example.com.  A     60   zone:example.com.  held   192.0.2.2\n"
    );
    let ran = ask(&service, &["record", "list", "--type", "A", "-o", "name"]);
    assert_eq!(ran.out, "www.example.com.\n");
    let ran = ask(&service, &["-o", "json", "zone", "show", "example.com"]);
    let zone: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(zone["recordCount"], 4, "{ran:?}");
    let ran = ask(&service, &["history", "--name", "www.example.com"]);
    assert!(ran.out.contains("+ 192.0.2.1 192.0.2.2 60 s"), "{ran:?}");
    assert_eq!(ask(&service, &["record", "delete", "www.example.com", "A"]).code, 0);
    assert_eq!(ask(&service, &["record", "list", "--type", "A"]).out, "");
    let ran = ask(&service, &["zone", "delete", "example.com"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = ask(&service, &["zone", "show", "example.com"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
}

#[test]
fn a_conflict_is_told_in_words_and_ends_with_4() {
    let service = Service::with_zone();
    let first =
        "kind: Gateway\nparent: k8s:prod\nrecords:\n- name: www.example.com\n  type: A\n  values: [192.0.2.1]\n";
    let ran = ask_with(&service, &["apply", "-f", "-", "--owner", "shop/web"], first);
    assert_eq!(ran.code, 0, "{ran:?}");
    let second = r#"[{"name":"www.example.com","type":"A","values":["192.0.2.9"]},
        {"name":"free.example.com","type":"A","values":["192.0.2.9"]}]"#;
    std::fs::write(service.folder.path().join("set.json"), second).expect("a file");
    let ran = ask(&service, &["apply", "-f", "set.json", "--owner", "team-b"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.contains("conflict  held by shop/web\n") && ran.out.contains("created\n"), "{ran:?}");
    assert!(
        ran.err.contains("held by shop/web (Gateway) since 2026-11-30T12:00:00Z, which belongs to k8s:prod\n")
            && ran.err.contains("tenured owner show shop/web")
            && ran.err.contains("1 created, 1 in conflict"),
        "{ran:?}"
    );
    let ran = ask(&service, &["record", "set", "www.example.com", "CNAME", "x.example.net.", "--owner", "team-b"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.starts_with("error: www.example.com CNAME: ") && ran.err.contains("shop/web"), "{ran:?}");
    let ran = ask(&service, &["owner", "tree"]);
    assert!(ran.out.contains("k8s:prod\n└─ shop/web (Gateway)  1 held\n"), "{ran:?}");
    let ran = ask(&service, &["owner", "delete", "k8s:prod"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("--cascade"), "{ran:?}");
    let ran = ask(&service, &["owner", "delete", "k8s:prod", "--cascade"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("2 owners and 1 record set deleted"), "{ran:?}");
    assert_eq!(ask(&service, &["owner", "show", "shop/web"]).code, 3);
}

#[test]
fn the_owner_of_a_write_is_that_of_the_token() {
    let service = Service::with_zone();
    let ran = ask(&service, &["token", "create", "web team", "--owner", "team-a"]);
    assert!(ran.code == 0 && ran.out.starts_with("tnd_") && ran.out.ends_with('\n'), "{ran:?}");
    let url = format!("http://{}", service.http);
    let variables = [("TENURED_URL", url.as_str()), ("TENURED_TOKEN", ran.out.trim())];
    let elsewhere = tempfile::tempdir().expect("a folder");
    let arguments = ["record", "set", "a.example.com", "A", "192.0.2.1"];
    let ran = run(elsewhere.path(), &variables, &arguments, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("owner team-a\n"), "{ran:?}");
    let ran = run(elsewhere.path(), &variables, &["zone", "delete", "example.com"], "");
    assert_eq!(ran.code, 5, "{ran:?}");
    let ran = ask(&service, &["token", "list"]);
    assert!(ran.out.contains("web team") && ran.out.contains("owner team-a"), "{ran:?}");
    let ran = ask(&service, &["token", "delete", "nothing"]);
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn a_zone_file_with_includes_is_imported_and_exported() {
    let service = Service::start();
    let folder = service.folder.path();
    let text = "$TTL 300\n@ IN SOA ns hostmaster 7 7200 900 1209600 300\n@ NS ns\n$INCLUDE parts/hosts.inc\n";
    std::fs::create_dir(folder.join("parts")).expect("a folder");
    std::fs::write(folder.join("parts/hosts.inc"), "ns A 192.0.2.1\nwww ALIAS ns\n").expect("a file");
    std::fs::write(folder.join("example.org.zone"), text).expect("a file");
    let ran = ask(&service, &["zone", "import", "example.org.zone"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = ask(&service, &["zone", "export", "example.org"]);
    assert!(ran.out.contains("192.0.2.1") && ran.out.contains("ALIAS"), "{ran:?}");
    let ran = ask(&service, &["alias", "list"]);
    assert!(ran.out.contains("www.example.org.  ns.example.org.  Resolved"), "{ran:?}");
    let ran = ask(&service, &["alias", "show", "www.example.org"]);
    assert!(ran.out.contains("AAAA: NoData") && ran.out.contains("A: Resolved: 192.0.2.1"), "{ran:?}");
    assert_eq!(ask(&service, &["alias", "show", "ns.example.org"]).code, 3);
    // Its states and owners are filters, a slip of the pen is an error, and -o json is the API's document.
    let ran = ask(&service, &["alias", "list", "--state", "Resolved", "--zone", "example.org", "-o", "name"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "www.example.org.\n"), "{ran:?}");
    let ran = ask(&service, &["alias", "list", "--state", "TargetNXDomain", "--older-than", "24h", "--owner", "team"]);
    assert_eq!((ran.code, ran.out.contains("www")), (0, false), "{ran:?}");
    let ran = ask(&service, &["alias", "list", "--state", "Dead"]);
    assert!(ran.code == 1 && ran.err.contains("TargetNXDomain"), "{ran:?}");
    let ran = ask(&service, &["alias", "show", "www.example.org", "-o", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(shown["records"][0]["target"], "ns.example.org.", "{ran:?}");
    let ran = ask(&service, &["alias", "check", "new.example.org", "ns.example.org.", "--owner", "team"]);
    assert!(ran.code == 0 && ran.out.contains("192.0.2.1") && ran.out.contains("Resolved"), "{ran:?}");
    let ran = ask(&service, &["alias", "check", "new.example.org", "new.example.org.", "-o", "json"]);
    let verdict: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&verdict["verdict"], &verdict["errors"][0]["code"]), (&"refused".into(), &"alias_self".into()));
    assert_eq!(ask(&service, &["alias", "show", "new.example.org"]).code, 3, "nothing is written");
    std::fs::write(folder.join("bad.example.zone"), "@ IN SOA x\n").expect("a file");
    let ran = ask(&service, &["zone", "import", "bad.example.zone"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("bad.example.zone:1: "), "{ran:?}");
}

#[test]
fn health_and_version_need_no_token() {
    let service = Service::start();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}", service.http);
    let ran = run(elsewhere.path(), &[("TENURED_URL", &url)], &["health"], "");
    assert!(ran.code == 0 && ran.out.starts_with("ready\n"), "{ran:?}");
    service.readiness.stop();
    let ran = run(elsewhere.path(), &[], &["--url", &url, "health"], "");
    assert_eq!(ran.code, 6, "{ran:?}");
    let ran = run(elsewhere.path(), &[("TENURED_URL", &url)], &["version"], "");
    assert_eq!(ran.out.lines().count(), 2, "{ran:?}");
    let ran = run(elsewhere.path(), &[("TENURED_URL", &url)], &["zone", "list"], "");
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("tenured.db.token") && ran.err.contains("TENURED_TOKEN"), "{ran:?}");
}
