//! The zones in `zones/` are examples: they read without an error and without a warning.

use std::path::Path;

use tenured::wire::name::Name;
use tenured::zone::file::{NoInclude, ZoneFile, read};

use super::{lines, name, records};

fn sample(zone: &str) -> ZoneFile {
    let file = format!("{zone}.zone");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("zones").join(&file);
    let text = std::fs::read(path).expect("a sample");
    read(&text, &file, Some(&name(zone)), &mut NoInclude).unwrap_or_else(|errors| panic!("{:#?}", lines(&errors)))
}

#[test]
fn every_sample_reads_without_error_and_warning() {
    let mut count = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("zones")).expect("the samples") {
        let file = entry.expect("an entry").file_name().into_string().expect("a name");
        let zone = sample(file.strip_suffix(".zone").expect("a zone"));
        assert_eq!(lines(&zone.warnings), Vec::<String>::new());
        assert_eq!(zone.origin, Name::parse(file.strip_suffix(".zone").expect("a zone")).expect("a name"));
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn the_company_zone_has_an_alias_at_its_apex_that_needs_no_other_server() {
    let records = records(&sample("example.com"));
    for wanted in [
        "example.com. 300 ALIAS edge.example.com.",
        "edge.example.com. 60 A 192.0.2.80",
        "edge.example.com. 60 AAAA 2001:db8::80",
        "node-10.example.com. 3600 A 198.51.100.10",
    ] {
        assert!(records.contains(&wanted.to_owned()), "{wanted}");
    }
}

#[test]
fn the_reverse_zones_name_the_hosts_of_the_company() {
    let ipv4 = records(&sample("2.0.192.in-addr.arpa"));
    assert!(ipv4.contains(&"25.2.0.192.in-addr.arpa. 86400 PTR mail.example.com.".to_owned()));
    assert!(ipv4.contains(&"190.2.0.192.in-addr.arpa. 86400 CNAME 190.128/26.2.0.192.in-addr.arpa.".to_owned()));
    let ipv6 = records(&sample("8.b.d.0.1.0.0.2.ip6.arpa"));
    for (digits, host) in [("5.2.0.0", "mail"), ("f.0.0.1", "host-0f")] {
        let zeros = "0.".repeat(20);
        let wanted = format!("{digits}.{zeros}8.b.d.0.1.0.0.2.ip6.arpa. 86400 PTR {host}.example.com.");
        assert!(ipv6.contains(&wanted), "{wanted}");
    }
}

#[test]
fn names_of_other_scripts_are_the_same_in_either_form() {
    let records = records(&sample("xn--bcher-kva.example"));
    for wanted in [
        "xn--gre-6ka8i.xn--bcher-kva.example. 3600 A 192.0.2.131",
        "xn--gre-6ka8i.xn--bcher-kva.example. 3600 AAAA 2001:db8::131",
        "xn--80akn5b.xn--bcher-kva.example. 3600 CNAME xn--gre-6ka8i.xn--bcher-kva.example.",
    ] {
        assert!(records.contains(&wanted.to_owned()), "{wanted} {records:#?}");
    }
}
