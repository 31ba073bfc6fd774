//! `tenured diff` and `tenured completion`, and what `apply` says of a conflict.

use super::service::Service;
use super::{ask, ask_with, run};

const FILE: &str = "- {name: new.example.com, type: A, ttl: 300, values: [192.0.2.1, 192.0.2.2]}\n\
                    - {name: WWW.example.com., type: a, ttl: 60, values: [192.0.2.3]}\n\
                    - {name: same.example.com, type: TXT, values: [same]}\n\
                    - {name: taken.example.com, type: A, values: [192.0.2.9]}\n\
                    - {name: labels.example.com, type: A, ttl: 60, values: [192.0.2.4], labels: {app: shop}}\n\
                    - {name: bad.example.com, type: A, values: [nonsense]}\n";

fn filled() -> Service {
    let service = Service::with_zone();
    let now = "- {name: www.example.com, type: A, ttl: 300, values: [192.0.2.1]}\n\
               - {name: same.example.com, type: TXT, values: [same]}\n\
               - {name: old.example.com, type: CNAME, ttl: 300, values: [x.example.net.]}\n\
               - {name: labels.example.com, type: A, ttl: 60, values: [192.0.2.4]}\n";
    assert_eq!(ask_with(&service, &["apply", "-f", "-", "--owner", "team-a"], now).code, 0);
    let ran = ask(&service, &["record", "set", "taken.example.com", "A", "192.0.2.8", "--owner", "team-b"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    service
}

#[test]
fn a_difference_is_shown_record_by_record_and_nothing_is_done() {
    let service = filled();
    let revision = service.api("GET", "/v1/records", None).1["revision"].clone();
    let ran = ask_with(&service, &["diff", "-f", "-", "--owner", "team-a"], FILE);
    assert_eq!(
        ran.out,
        "owner team-a\n\
         + new.example.com. A 300 192.0.2.1 192.0.2.2\n\
         ~ www.example.com. A\n\
         \x20   - 300 192.0.2.1\n\
         \x20   + 60 192.0.2.3\n\
         ! taken.example.com. A conflict: held by team-b since 2026-11-30T12:00:00Z\n\
         ~ labels.example.com. A\n\
         \x20   its labels or options\n\
         ! bad.example.com A invalid: nonsense: expected IPv4 address\n\
         - old.example.com. CNAME 300 x.example.net.\n",
        "{ran:?}"
    );
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert_eq!(service.api("GET", "/v1/records", None).1["revision"], revision);
    let ran = ask_with(&service, &["diff", "-f", "-", "--owner", "team-a", "-o", "json"], FILE);
    let shown: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let updated = &shown[0]["differences"][1];
    assert_eq!(updated["before"], serde_json::json!({"ttl": 300, "values": ["192.0.2.1"]}), "{shown}");
    assert_eq!(updated["after"], serde_json::json!({"ttl": 60, "values": ["192.0.2.3"]}));
    assert_eq!(shown[0]["differences"][2]["holder"]["owner"], "team-b");
    let ran = ask_with(&service, &["diff", "-f", "-", "--owner", "team-a", "--no-prune", "-o", "name"], FILE);
    assert!(ran.code == 1 && !ran.out.contains("old.example.com"), "{ran:?}");
}

#[test]
fn no_difference_is_exit_code_0_and_an_error_is_2() {
    let service = filled();
    let same = "- {name: new.example.com, type: A, values: [192.0.2.1]}\n";
    let ran = ask_with(&service, &["diff", "-f", "-", "--owner", "team-c"], same);
    assert_eq!((ran.code, ran.out.as_str()), (1, "owner team-c\n+ new.example.com. A default 192.0.2.1\n"), "{ran:?}");
    assert_eq!(ask_with(&service, &["apply", "-f", "-", "--owner", "team-c"], same).code, 0);
    let ran = ask_with(&service, &["diff", "-f", "-", "--owner", "team-c"], same);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", "no difference\n"), "{ran:?}");
    assert_eq!(ask_with(&service, &["diff", "-f", "-", "--owner", "team-c"], "- 5").code, 2);
    assert_eq!(ask_with(&service, &["diff", "-f", "-", "--owner", "team-c"], "records: [{name: x}]").code, 2);
    assert_eq!(ask(&service, &["diff", "-f", "nothing.yaml", "--owner", "team-c"]).code, 2);
    let variables = [("TENURED_URL", "http://127.0.0.1:1")];
    let ran = run(service.folder.path(), &variables, &["diff", "-f", "-", "--owner", "team-c"], same);
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn a_conflict_is_told_once_and_waiting_is_advised_where_it_helps() {
    let service = filled();
    let taken = "- {name: taken.example.com, type: A, values: [192.0.2.9]}\n";
    let advice = "to wait for the holder to let go: --on-conflict queue";
    for arguments in [
        &["apply", "-f", "-", "--owner", "team-c"][..],
        &["apply", "-f", "-", "--owner", "team-c", "--atomic"],
        &["record", "set", "taken.example.com", "A", "192.0.2.9", "--owner", "team-c"],
    ] {
        let ran = ask_with(&service, arguments, taken);
        assert_eq!(ran.code, 4, "{ran:?}");
        for once in [advice, "held by team-b since", "tenured owner show team-b"] {
            assert_eq!(ran.err.matches(once).count(), 1, "{once}: {}", ran.err);
        }
    }
    let ran = ask_with(&service, &["apply", "-f", "-", "--owner", "team-c", "--on-conflict", "queue"], taken);
    assert!(ran.code == 4 && !ran.err.contains("--on-conflict"), "{ran:?}");
    let ran = ask(&service, &["owner", "transfer", "--from", "team-b", "--to", "nobody"]);
    assert!(!ran.err.contains("--on-conflict"), "{ran:?}");
}

#[test]
fn completion_scripts_name_the_commands() {
    let elsewhere = tempfile::tempdir().expect("a folder");
    for (shell, part) in [("bash", "complete -F"), ("zsh", "#compdef tenured"), ("fish", "complete -c tenured")] {
        let ran = run(elsewhere.path(), &[], &["completion", shell], "");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{shell}");
        for word in [part, "explain", "diff", "on-conflict"] {
            assert!(ran.out.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(elsewhere.path(), &[], &["completion", "tcsh"], "").code, 2);
}
