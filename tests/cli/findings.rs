//! What is odd, as a person reads it.

use super::service::Service;
use super::{ask, ask_with};

#[test]
fn orphans_conflicts_and_flaps_are_told_in_tables() {
    let service = Service::with_zone();
    for (arguments, nothing) in [
        (["orphans"], "there are no orphans\n"),
        (["conflicts"], "nobody wants what another holds\n"),
        (["flaps"], "nothing flaps\n"),
    ] {
        let ran = ask(&service, &arguments);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", nothing));
    }
    let set = |arguments: &[&str]| ask_with(&service, &[&["record"], arguments].concat(), "").code;
    assert_eq!(set(&["set", "gone.example.com", "CNAME", "nothing.example.com.", "--owner", "team-a"]), 0);
    assert_eq!(set(&["set", "gone.example.com", "CNAME", "other.example.com.", "--owner", "team-b"]), 4);
    for _ in 0..3 {
        assert_eq!(set(&["set", "www.example.com", "A", "192.0.2.1", "--owner", "team-a"]), 0);
        assert_eq!(set(&["set", "www.example.com", "A", "192.0.2.2", "--owner", "team-a"]), 0);
    }
    assert_eq!(set(&["set", "www.example.com", "A", "192.0.2.1", "--owner", "team-a"]), 0);
    let line = |command: &str, name: &str| {
        let ran = ask(&service, &[command, "-o", "json"]);
        assert!(ran.out.contains(&format!("\"name\": \"{name}\"")), "{ran:?}");
        ask(&service, &[command]).out
    };
    let orphans = line("orphans", "gone.example.com.");
    assert!(orphans.starts_with("NAME") && orphans.contains("targetNxdomain"), "{orphans}");
    let conflicts = line("conflicts", "gone.example.com.");
    assert!(conflicts.contains("team-b") && conflicts.contains("refused"), "{conflicts}");
    let flaps = line("flaps", "www.example.com.");
    assert!(flaps.contains("toggle") && flaps.contains("values"), "{flaps}");
}
