//! The server itself: what it is, its settings and its counters, as far as clients look at them.

use serde::Serialize;
use serde_json::{Value, json};

use super::Ask;
use super::answer::{Answer, Failure, shown};
use super::fields;
use crate::wire::codes::Rcode;

/// The dialect, and who speaks it. Clients read the first three numbers.
const VERSION: &str = concat!("5.1.0-tenured-", env!("CARGO_PKG_VERSION"));

/// `/api`. There is one version, since clients take the highest.
pub(super) fn api() -> Answer {
    Answer::json(&json!([{"url": "/api/v1", "version": 1}]))
}

pub(super) fn version() -> Answer {
    Answer::json(&json!([{"api_features": [], "server_url": "/api/v1/servers{/server}"}]))
}

fn document() -> Value {
    json!({
        "autoprimaries_url": "/api/v1/servers/localhost/autoprimaries{/autoprimary}",
        "config_url": "/api/v1/servers/localhost/config{/config_setting}",
        "daemon_type": "authoritative",
        "id": "localhost",
        "type": "Server",
        "url": "/api/v1/servers/localhost",
        "version": VERSION,
        "zones_url": "/api/v1/servers/localhost/zones{/zone}",
    })
}

pub(super) fn list() -> Answer {
    Answer::json(&json!([document()]))
}

pub(super) fn one() -> Answer {
    Answer::json(&document())
}

#[derive(Serialize)]
struct Setting<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    value: &'a str,
}

const SETTINGS: [(&str, &str); 9] = [
    ("allow-axfr-ips", ""),
    ("api", "yes"),
    ("default-soa-edit", ""),
    ("dname-processing", "yes"),
    ("enable-lua-records", "no"),
    ("expand-alias", "yes"),
    ("launch", "tenured"),
    ("version-string", VERSION),
    ("webserver", "yes"),
];

fn settings() -> Vec<Setting<'static>> {
    SETTINGS.iter().map(|(name, value)| Setting { name, kind: "ConfigSetting", value }).collect()
}

pub(super) fn config(_: &Ask) -> Answer {
    Answer::json(&settings())
}

pub(super) fn setting(_: &Ask, name: &str) -> Result<Answer, Failure> {
    let found = settings().into_iter().find(|setting| setting.name == name);
    found.map(|setting| Answer::json(&setting)).ok_or_else(Failure::not_found)
}

pub(super) fn statistics(ask: &Ask) -> Result<Answer, Failure> {
    let totals = ask.state.counters.totals();
    let of = |transport: &str| {
        let requests = totals.requests.iter().filter(|one| one.transport == transport).map(|one| one.count).sum();
        let responses = totals.responses.iter().filter(|one| one.transport == transport).map(|one| one.count).sum();
        (requests, responses)
    };
    let ((udp_queries, udp_answers), (tcp_queries, tcp_answers)): ((u64, u64), (u64, u64)) = (of("udp"), of("tcp"));
    let failures = totals.responses.iter().filter(|one| one.rcode == Rcode::SERVFAIL).map(|one| one.count).sum();
    let numbers = [
        ("latency", 0),
        ("qsize-q", 0),
        ("servfail-packets", failures),
        ("tcp-answers", tcp_answers),
        ("tcp-queries", tcp_queries),
        ("udp-answers", udp_answers),
        ("udp-queries", udp_queries),
        ("uptime", ask.since.elapsed().as_secs()),
    ];
    let item = |(name, value): &(&str, u64)| json!({"name": name, "type": "StatisticItem", "value": value.to_string()});
    match ask.parameter("statistic") {
        None => Ok(Answer::json(&numbers.iter().map(item).collect::<Vec<_>>())),
        Some(wanted) => match numbers.iter().find(|(name, _)| *name == wanted) {
            Some(one) => Ok(Answer::json(&[item(one)])),
            None => Err(Failure::unprocessable("Unknown statistic name")),
        },
    }
}

/// There is no cache that could be stale: the answer is what it would be.
pub(super) fn flush(ask: &Ask) -> Result<Answer, Failure> {
    let domain = ask.parameter("domain").unwrap_or_default();
    fields::canonical(domain)
        .map_err(|_| Failure::unprocessable(format!("DNS Name '{}' is not canonical", shown(domain))))?;
    Ok(Answer::json(&json!({"count": 0, "result": "Flushed cache."})))
}
