//! `/metrics` of the real binary: what is counted, and what never stands in a label.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use serde_json::json;

use super::dns::{Over, ask};
use super::server::{Server, sample_zones};

/// Samples by name and labels as they are written, and families with their types.
struct Scraped {
    text: String,
    samples: BTreeMap<String, f64>,
    families: BTreeMap<String, String>,
}

impl Scraped {
    /// The value of a sample; 0 if it is not there, as a counter that never counted.
    fn value(&self, sample: &str) -> f64 {
        self.samples.get(sample).copied().unwrap_or(0.0)
    }

    /// The sum of all samples of a name.
    fn sum(&self, name: &str) -> f64 {
        let of_name = |sample: &&String| sample.split('{').next() == Some(name);
        self.samples.iter().filter(|(sample, _)| of_name(sample)).map(|(_, value)| value).sum()
    }
}

/// A GET without a token: head and body.
fn get(server: &Server, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(server.http).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").expect("a request");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    (head.to_ascii_lowercase(), body.to_owned())
}

/// The value of a sample of `/metrics`; 0 if it is not there.
pub(crate) fn sample(server: &Server, name: &str) -> f64 {
    scrape(server).value(name)
}

/// The sum of all samples of a name.
pub(crate) fn sum(server: &Server, name: &str) -> f64 {
    scrape(server).sum(name)
}

/// Reads the text format line by line (Prometheus exposition format 0.0.4), strict about what this server writes.
fn scrape(server: &Server) -> Scraped {
    let (head, text) = get(server, "/metrics");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let mut scraped = Scraped { text: text.clone(), samples: BTreeMap::new(), families: BTreeMap::new() };
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (_, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            let old = scraped.families.insert(name.to_owned(), kind.to_owned());
            assert_eq!(old, None, "{name} is one family");
        } else {
            let (sample, value) = line.rsplit_once(' ').expect("a value");
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("a number: {line}"));
            let name = sample.split('{').next().expect("a name");
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            let known = scraped.families.contains_key(family) || scraped.families.contains_key(name);
            assert!(known, "{line}: its family comes first");
            assert!(name.starts_with("tenured_"), "{line}");
            let old = scraped.samples.insert(sample.to_owned(), value);
            assert_eq!(old, None, "{sample} stands once");
        }
    }
    scraped
}

/// The values of all labels.
fn label_values(scraped: &Scraped) -> BTreeSet<(String, String)> {
    let mut values = BTreeSet::new();
    for sample in scraped.samples.keys() {
        let Some((_, labels)) = sample.split_once('{') else { continue };
        let labels = labels.strip_suffix('}').expect("the end of the labels");
        for label in labels.split(',') {
            let (name, value) = label.split_once('=').expect("a label");
            let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).expect("a quoted value");
            values.insert((name.to_owned(), value.to_owned()));
        }
    }
    values
}

/// Where a server listens for DNS over IPv4 and over IPv6.
fn addresses(server: &Server) -> [SocketAddr; 2] {
    let words = server.greeting.iter().filter_map(|line| line.strip_prefix("dns")?.split_whitespace().next());
    let all: Vec<SocketAddr> = words.map(|word| word.parse().expect("an address")).collect();
    [false, true].map(|v6| *all.iter().find(|address| address.is_ipv6() == v6).expect("one of each family"))
}

fn sample_server(folder: &std::path::Path, more: &[&str]) -> Server {
    let zones = sample_zones();
    let arguments = [&["--zones", zones.to_str().expect("text")], more].concat();
    Server::start(folder, &arguments)
}

#[test]
fn queries_are_counted_by_transport_family_and_type_and_replies_by_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = sample_server(folder.path(), &["--dns", "[::1]:0"]);
    let [v4, v6] = addresses(&server);
    let asked =
        [("www.example.com", "A"), ("nothing.example.com", "A"), ("example.com", "MX"), ("example.org", "TYPE999")];
    for (name, rtype) in asked {
        ask(v4, Over::Udp, name, rtype);
    }
    ask(v4, Over::Tcp, "www.example.com", "HTTPS");
    let socket = UdpSocket::bind("[::1]:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    // No query at all, and behind it one on the same socket, so the first was seen when the second is answered.
    socket.send_to(&[0; 11], v6).expect("sent");
    socket.send_to(&super::dns::query("www.example.com", "ANY"), v6).expect("sent");
    socket.recv(&mut [0; 2048]).expect("a reply");
    let scraped = scrape(&server);
    for (transport, family, qtype, count) in [
        ("udp", "ipv4", "A", 2.0),
        ("udp", "ipv4", "MX", 1.0),
        ("udp", "ipv4", "other", 1.0),
        ("udp", "ipv6", "ANY", 1.0),
        ("tcp", "ipv4", "HTTPS", 1.0),
    ] {
        let sample =
            format!("tenured_dns_requests_total{{transport=\"{transport}\",family=\"{family}\",qtype=\"{qtype}\"}}");
        assert_eq!(scraped.value(&sample), count, "{sample}\n{}", scraped.text);
    }
    for (transport, rcode, count) in
        [("udp", "NOERROR", 3.0), ("udp", "NXDOMAIN", 1.0), ("udp", "REFUSED", 1.0), ("tcp", "NOERROR", 1.0)]
    {
        let sample = format!("tenured_dns_responses_total{{transport=\"{transport}\",rcode=\"{rcode}\"}}");
        assert_eq!(scraped.value(&sample), count, "{sample}\n{}", scraped.text);
    }
    assert_eq!(scraped.value("tenured_dns_dropped_total{reason=\"not_a_query\"}"), 1.0);
    assert_eq!(scraped.sum("tenured_dns_requests_total"), 6.0, "nothing else was counted");
    assert_eq!(scraped.sum("tenured_dns_responses_total"), 6.0);
}

#[test]
fn a_write_shows_in_the_revision_the_records_and_the_time_of_its_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = sample_server(folder.path(), &[]);
    let before = scrape(&server);
    let set = server.command(&["record", "set", "counted.example.com", "A", "192.0.2.200"]);
    assert!(set.status.success(), "{set:?}");
    let after = scrape(&server);
    for name in ["tenured_records", "tenured_revision", "tenured_served_revision"] {
        assert_eq!(after.value(name), before.value(name) + 1.0, "{name}");
    }
    for name in ["tenured_store_commit_duration_seconds", "tenured_publish_duration_seconds"] {
        assert!(after.value(&format!("{name}_count")) > before.value(&format!("{name}_count")), "{name}");
        assert_eq!(
            after.value(&format!("{name}_bucket{{le=\"+Inf\"}}")),
            after.value(&format!("{name}_count")),
            "{name}"
        );
    }
    assert_eq!(after.value("tenured_zones"), 4.0);
    assert_eq!(after.value(&format!("tenured_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))), 1.0);
    assert!(after.value("tenured_owners{state=\"active\"}") >= 1.0, "{}", after.text);
    assert_eq!(after.value("tenured_owners{state=\"expired\"}"), 0.0);
}

#[test]
fn no_label_holds_a_name_and_every_family_is_there_from_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = sample_server(folder.path(), &[]);
    // Names that somebody chose: of owners, zones and records, some with what ends a label of the text format.
    let wish = json!({ "records": [
        { "name": "chosen-name.example.com.", "type": "TXT", "values": ["\"chosen-name\\\" 1\""] },
        { "name": "pointer.example.com.", "type": "ALIAS", "values": ["chosen-name.example.net."] },
    ] });
    let (status, answer) = server.api("PUT", "/v1/owners/chosen-name/records", Some(wish));
    assert_eq!(status, 200, "{answer}");
    server.ask("chosen-name.example.com", "TXT");
    server.ask("chosen-name\\\"\\010x.example.com", "A");
    let scraped = scrape(&server);
    assert!(!scraped.text.contains("chosen-name"), "{}", scraped.text);
    for (label, value) in label_values(&scraped) {
        // An upstream is shown by its address and port.
        let is_upstream = label == "upstream" && value.parse::<SocketAddr>().is_ok();
        let plain =
            is_upstream || value.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"_+.e-".contains(&octet));
        assert!(plain && !value.contains("example"), "{label}={value}");
        let known = [
            "door",
            "serving",
            "upstream",
            "result",
            "transport",
            "family",
            "qtype",
            "rcode",
            "reason",
            "action",
            "state",
            "le",
            "version",
            "alarm",
        ];
        assert!(known.contains(&label.as_str()), "{label}={value}");
    }
    for family in [
        "tenured_build_info",
        "tenured_dns_requests_total",
        "tenured_dns_responses_total",
        "tenured_dns_dropped_total",
        "tenured_zones",
        "tenured_records",
        "tenured_alias_targets",
        "tenured_alias_records",
        "tenured_alias_answers_total",
        "tenured_alias_upstream_queries_total",
        "tenured_alias_coalesced_total",
        "tenured_alias_stale_age_seconds",
        "tenured_alias_refresh_seconds",
        "tenured_alias_deferred",
        "tenured_alias_deferred_expired_total",
        "tenured_alias_hints_dropped_total",
        "tenured_revision",
        "tenured_served_revision",
        "tenured_owners",
        "tenured_store_commit_duration_seconds",
        "tenured_publish_duration_seconds",
        "tenured_alarm",
    ] {
        assert!(scraped.families.contains_key(family), "{family}\n{}", scraped.text);
    }
}
