//! ALIAS through the real binary and scripted resolvers: the incident step by step, a restart while upstreams are dead,
//! what a write is told of its target, and the options of a record.

use std::path::Path;

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::dns::Reply;
use super::metrics::sample;
use super::server::{Server, eventually, part};
use super::upstream::{A, AAAA, Say, Upstream, Value as Data};

const GATEWAY: &str = "k8s:prod/Gateway/shop/web";
const PROXY: &str = "k8s:prod/HTTPProxy/shop/web";
const EDGE: &str = "edge-7f3a.proxy.test.";

/// Two resolvers, and the server that asks them.
struct World {
    upstreams: [Upstream; 2],
    server: Option<Server>,
    folder: tempfile::TempDir,
    // The last to go: the resolvers run on it.
    _runtime: Runtime,
}

fn ttl(seconds: u32) -> Say {
    Say::Records(vec![("edge-7f3a.proxy.test.", seconds, Data::Address("192.0.2.10"))])
}

fn gone() -> Say {
    Say::NameError(Vec::new(), Some(60))
}

impl World {
    fn new() -> World {
        let runtime = Runtime::new().expect("a runtime");
        let upstreams = [runtime.block_on(Upstream::start()), runtime.block_on(Upstream::start())];
        let folder = tempfile::tempdir().expect("a folder");
        let mut world = World { upstreams, server: None, folder, _runtime: runtime };
        world.all_say(A, &ttl(60));
        world.all_say(AAAA, &Say::NoData(Some(60)));
        world.start();
        let (status, body) = world.server().api("PUT", "/v1/zones/example.com.", Some(json!({})));
        assert_eq!(status, 201, "{body}");
        world
    }

    fn start(&mut self) {
        let addresses = self.upstreams.each_ref().map(|one| one.address.to_string());
        let arguments = ["--upstream", &addresses[0], "--upstream", &addresses[1]];
        self.server = Some(Server::start(self.folder.path(), &arguments));
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("it is running")
    }

    fn all_say(&self, rtype: u16, say: &Say) {
        self.upstreams.iter().for_each(|one| one.says(EDGE, rtype, say.clone()));
    }

    fn apply(&self, records: Value) -> Value {
        let body = json!({"parent": PROXY, "kind": "Gateway", "records": records});
        let (status, report) = self.server().api("PUT", &format!("/v1/owners/{}/records", part(GATEWAY)), Some(body));
        assert_eq!(status, 200, "{report}");
        report
    }

    fn refresh(&self) {
        let (status, body) =
            self.server().api("POST", "/v1/alias-targets/refresh", Some(json!({"names": ["www.example.com."]})));
        assert_eq!(status, 202, "{body}");
    }

    fn targets(&self, query: &str) -> Value {
        let (status, list) = self.server().api("GET", &format!("/v1/alias-targets?{query}"), None);
        assert_eq!(status, 200, "{list}");
        list
    }

    fn events(&self) -> Vec<Value> {
        let (status, list) = self.server().api("GET", "/v1/changes?actor=system:alias", None);
        assert_eq!(status, 200, "{list}");
        list["items"].as_array().expect("a list").clone()
    }

    fn lookups(&self) -> usize {
        self.upstreams.iter().map(|one| one.asked().len()).sum()
    }
}

fn alias_and_txt() -> Value {
    json!([
        {"name": "www.example.com.", "type": "ALIAS", "ttl": 300, "values": [EDGE]},
        {"name": "www.example.com.", "type": "TXT", "values": ["owned by the gateway"]}])
}

fn extended(reply: &Reply) -> Option<(u16, &str)> {
    reply.extended.as_ref().map(|(code, text)| (*code, text.as_str()))
}

#[test]
fn the_incident_from_the_tear_down_to_the_end() {
    let world = World::new();
    let server = world.server();
    let above = json!({"parent": "k8s:prod", "kind": "HTTPProxy", "records": []});
    assert_eq!(server.api("PUT", &format!("/v1/owners/{}/records", part(PROXY)), Some(above)).0, 200);
    world.apply(alias_and_txt());
    // Start.
    let reply = server.ask_both("www.example.com", "A");
    assert_eq!((reply.rcode.as_str(), reply.data()), ("NOERROR", vec!["192.0.2.10"]));
    assert!((58..=60).contains(&reply.ttl()), "{reply:?}");
    let reply = server.ask_both("www.example.com", "AAAA");
    assert_eq!((reply.rcode.as_str(), reply.answer.len()), ("NOERROR", 0));
    assert!(reply.authority[0].starts_with("example.com. "), "{reply:?}");
    assert_eq!(world.events(), Vec::<Value>::new(), "that it resolves is no news");
    // Torn down, with the ALIAS left behind: the first server says so, the second does not answer.
    world.upstreams[1].says(EDGE, A, Say::Silence);
    world.upstreams[1].says(EDGE, AAAA, Say::Silence);
    world.upstreams[0].says(EDGE, A, gone());
    world.upstreams[0].says(EDGE, AAAA, gone());
    world.refresh();
    let unsure = eventually(15, "a doubt", || server.ask("www.example.com", "A"), |reply| extended(reply).is_some());
    assert_eq!((unsure.data(), extended(&unsure)), (vec!["192.0.2.10"], Some((3, ""))), "{unsure:?}");
    assert!(unsure.ttl() <= 30, "{unsure:?}");
    // The second confirms.
    world.all_say(A, &gone());
    world.all_say(AAAA, &gone());
    let dead = eventually(15, "a dead target", || server.ask("www.example.com", "A"), |reply| reply.answer.is_empty());
    assert_eq!((dead.rcode.as_str(), extended(&dead)), ("NOERROR", Some((0, "alias target does not exist"))));
    let authority: Vec<&str> = dead.authority[0].split_whitespace().collect();
    assert_eq!((authority[0], authority[1]), ("example.com.", "60"), "{dead:?}");
    assert_eq!(server.ask_both("www.example.com", "TXT").data(), ["\"owned by the gateway\""]);
    // The API: one event, and one row in the sweep, from a day on with `olderThan`.
    let events = eventually(15, "an event", || world.events(), |events| !events.is_empty());
    let told: Vec<_> = events.iter().map(|one| (&one["type"], &one["after"]["from"], &one["after"]["to"])).collect();
    let (from, to) = (json!("Resolved"), json!("TargetNXDomain"));
    // The resolvers name a top-level domain as the one that denies it, so the domain may be free to register.
    let kinds = [json!("alias.state_changed"), json!("alias.takeover_risk")];
    assert_eq!(told, [(&kinds[0], &from, &to), (&kinds[1], &from, &to)], "{events:?}");
    let after = &events[0]["after"];
    assert_eq!((&after["recordCount"], &after["owners"]), (&json!(1), &json!([GATEWAY])));
    let list = world.targets("state=TargetNXDomain&owner=k8s:prod");
    let row = &list["items"][0];
    assert_eq!((&row["target"], &row["lastError"]), (&json!(EDGE), &json!("NXDOMAIN")), "{list}");
    assert_eq!(row["takeoverRisk"], true, "{list}");
    assert_eq!(row["families"]["A"]["lastAddresses"], json!(["192.0.2.10"]), "{list}");
    let record = &row["records"][0];
    assert_eq!((&record["owner"], &record["serving"]), (&json!(GATEWAY), &json!("nodata")), "{list}");
    assert_eq!((&record["effectiveTtlSeconds"], &record["ttlLimitedBy"]), (&json!(60), &json!("deadTarget")));
    assert_eq!(world.targets("state=TargetNXDomain&owner=k8s:prod&olderThan=24h")["items"], json!([]));
    // The metrics and `explain`, the other places where people look.
    assert_eq!(sample(server, "tenured_alias_targets{state=\"TargetNXDomain\"}"), 1.0);
    assert_eq!(sample(server, "tenured_alias_records{state=\"TargetNXDomain\"}"), 1.0);
    assert!(sample(server, "tenured_alias_answers_total{serving=\"stale\"}") >= 1.0);
    assert!(sample(server, "tenured_alias_answers_total{serving=\"nodata\"}") >= 1.0);
    let (status, explained) = server.api("GET", "/v1/explain?name=www.example.com.&type=A", None);
    let verdict = explained["verdict"].as_str().unwrap_or_default();
    for part in
        ["(NODATA)", "an ALIAS that leads to edge-7f3a.proxy.test.", "TargetNXDomain since", GATEWAY, PROXY, "k8s:prod"]
    {
        assert!(verdict.contains(part), "{part}: {explained:#}");
    }
    assert_eq!((status, &explained["orphan"]["reason"]), (200, &json!("targetNxdomain")), "{explained:#}");
    let until = explained["negativeUntil"].as_str().and_then(|text| humantime::parse_rfc3339(text).ok());
    let left = until.expect("a time").duration_since(std::time::SystemTime::now()).unwrap_or_default();
    assert!(left.as_secs() <= 60, "no longer than the SOA of the answer: {explained:#}");
    // It comes back.
    world.all_say(A, &ttl(60));
    world.all_say(AAAA, &Say::NoData(Some(60)));
    eventually(
        15,
        "its return",
        || {
            world.refresh();
            server.ask("www.example.com", "A")
        },
        |reply| reply.data() == ["192.0.2.10"] && reply.extended.is_none(),
    );
    // Without the hostname: nothing is left, and nobody is asked.
    let serial = server.ask("example.com", "SOA").data()[0].to_owned();
    world.apply(json!([]));
    assert_eq!(server.ask_both("www.example.com", "A").rcode, "NXDOMAIN");
    assert_ne!(server.ask("example.com", "SOA").data()[0], serial);
    assert_eq!(world.targets("")["items"], json!([]));
}

#[test]
fn a_restart_answers_from_what_was_known_while_upstreams_are_dead() {
    let mut world = World::new();
    world.apply(alias_and_txt());
    assert_eq!(world.server().ask_both("www.example.com", "A").data(), ["192.0.2.10"]);
    world.all_say(A, &Say::Silence);
    world.all_say(AAAA, &Say::Silence);
    // The end writes what is not written yet.
    world.server.take().expect("it runs").interrupt();
    let before = world.lookups();
    world.start();
    let reply = world.server().ask_both("www.example.com", "A");
    assert_eq!((reply.rcode.as_str(), reply.data()), ("NOERROR", vec!["192.0.2.10"]), "{reply:?}");
    assert!((1..=60).contains(&reply.ttl()), "{reply:?}");
    let reply = world.server().ask_both("www.example.com", "AAAA");
    assert_eq!((reply.rcode.as_str(), reply.answer.len()), ("NOERROR", 0), "{reply:?}");
    assert_eq!(world.lookups(), before, "its time is not over");
    let list = world.targets("");
    assert_eq!(list["items"][0]["state"], "Resolved", "{list}");
}

fn put(server: &Server, path: &str, body: Value) -> (u16, Value) {
    server.api("PUT", &format!("/v1/owners/team/records/{path}"), Some(body))
}

#[test]
fn a_write_says_what_is_wrong_with_its_target_or_is_refused_for_it() {
    let world = World::new();
    let server = world.server();
    let codes = |report: &Value| -> Vec<String> {
        let warnings = report["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().map(|one| one["code"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let (status, report) = put(server, "a.example.com./ALIAS", json!({"values": [EDGE]}));
    assert_eq!((status, codes(&report)), (200, Vec::new()), "{report}");
    // What the check learnt is there at the first query.
    let before = world.lookups();
    assert_eq!(server.ask("a.example.com", "A").data(), ["192.0.2.10"]);
    assert_eq!(world.lookups(), before);
    world.upstreams.iter().for_each(|one| {
        for rtype in [A, AAAA] {
            one.says("gone.proxy.test.", rtype, gone());
            one.says("empty.proxy.test.", rtype, Say::NoData(Some(60)));
            one.says("broken.proxy.test.", rtype, Say::Code(2));
        }
    });
    for (target, code) in [
        ("gone.proxy.test.", "target_nxdomain"),
        ("empty.proxy.test.", "target_no_addresses"),
        ("broken.proxy.test.", "target_unreachable"),
        ("missing.example.com.", "target_missing_in_server"),
    ] {
        let (status, report) = put(server, "b.example.com./ALIAS", json!({"values": [target]}));
        assert_eq!((status, codes(&report)), (200, vec![code.to_owned()]), "{target}: {report}");
        let path = "c.example.com./ALIAS?targetCheck=require";
        let (status, problem) = put(server, path, json!({"values": [target]}));
        assert_eq!((status, &problem["code"]), (422, &json!("alias_target_unresolvable")), "{problem}");
        assert_eq!(server.ask("c.example.com", "A").rcode, "NXDOMAIN");
        let path = "d.example.com./ALIAS?targetCheck=off";
        let (status, report) = put(server, path, json!({"values": [target]}));
        assert_eq!((status, codes(&report)), (200, Vec::new()), "{report}");
    }
    let (status, verdict) = server.api(
        "POST",
        "/v1/aliases/dry-run",
        Some(json!({"name": "e.example.com.", "type": "ALIAS", "ttl": 20, "values": [EDGE]})),
    );
    assert_eq!((status, &verdict["verdict"], &verdict["state"]), (200, &json!("ok"), &json!("Resolved")), "{verdict}");
    assert_eq!((&verdict["effectiveTtlSeconds"], &verdict["ttlLimitedBy"]), (&json!(20), &json!("alias")));
    assert_eq!(server.ask("e.example.com", "A").rcode, "NXDOMAIN", "nothing is stored");
    let (_, verdict) = server.api(
        "POST",
        "/v1/aliases/dry-run",
        Some(json!({"name": "e.example.com.", "type": "ALIAS", "values": ["printer.local."]})),
    );
    assert_eq!(verdict["errors"][0]["code"], "alias_target_special", "{verdict}");
}

#[test]
fn options_of_a_record_decide_what_it_serves() {
    let world = World::new();
    let server = world.server();
    let fallback = json!({"values": [EDGE], "ttl": 300, "alias": {"static": "fallback", "onNxdomain": "fallback"}});
    let (status, report) = put(server, "fall.example.com./ALIAS", fallback);
    assert_eq!(status, 200, "{report}");
    assert_eq!(report["warnings"][0]["code"], "fallback_empty", "{report}");
    let (status, report) = put(server, "fall.example.com./A", json!({"values": ["198.51.100.1"], "ttl": 300}));
    assert_eq!(status, 200, "{report}");
    let strict = json!({"values": [EDGE], "ttl": 300,
        "alias": {"families": ["A"], "ttlPolicy": {"mode": "override"}, "onNxdomain": "servfail"}});
    assert_eq!(put(server, "strict.example.com./ALIAS", strict).0, 200);
    assert_eq!(server.ask("fall.example.com", "A").data(), ["192.0.2.10"], "the target goes first");
    assert_eq!(server.ask("strict.example.com", "A").ttl(), 300);
    let (_, shown) = server.api("GET", "/v1/records?name=strict.example.com.", None);
    let alias = &shown["items"][0]["alias"];
    assert_eq!(alias["families"], json!(["A"]), "{shown}");
    assert_eq!(alias["ttlPolicy"], json!({"mode": "override", "minSeconds": 5, "maxSeconds": 3600}), "{shown}");
    assert_eq!((&alias["maxAddresses"], &alias["onNxdomain"]), (&json!(16), &json!("servfail")), "{shown}");
    // Both outlive a restart.
    world.all_say(A, &gone());
    world.all_say(AAAA, &gone());
    eventually(
        15,
        "a dead target",
        || {
            world.server().api("POST", "/v1/alias-targets/refresh", Some(json!({"targets": [EDGE]})));
            server.ask("strict.example.com", "A")
        },
        |reply| reply.rcode == "SERVFAIL",
    );
    let reply = server.ask("fall.example.com", "A");
    assert_eq!((reply.data(), reply.ttl()), (vec!["198.51.100.1"], 60), "{reply:?}");
    for (body, code) in [
        (json!({"values": [EDGE], "alias": {"onNxdomain": "fallback"}}), "alias_fallback_disabled"),
        (json!({"values": [EDGE], "alias": {"allowPrivate": true}}), "alias_option_invalid"),
        (json!({"values": [EDGE], "alias": {"upstreamGroup": "nowhere"}}), "alias_option_invalid"),
        (json!({"values": [EDGE], "alias": {"maxAddresses": 65}}), "alias_option_invalid"),
        (json!({"values": [EDGE], "alias": {"https": "follow"}}), "alias_option_unsupported"),
    ] {
        let (status, problem) = put(server, "other.example.com./ALIAS", body.clone());
        assert_eq!((status, &problem["code"]), (422, &json!(code)), "{body}: {problem}");
    }
}

fn configured(folder: &Path, text: &str) -> Server {
    std::fs::write(folder.join("tenured.toml"), text).expect("a file");
    Server::start(folder, &[])
}

#[test]
fn groups_quotas_and_lists_of_the_configuration_hold() {
    let runtime = Runtime::new().expect("a runtime");
    let (outside, inside) = (runtime.block_on(Upstream::start()), runtime.block_on(Upstream::start()));
    for (upstream, address) in [(&outside, "192.0.2.10"), (&inside, "10.0.0.10")] {
        upstream.says(EDGE, A, Say::Records(vec![(EDGE, 60, Data::Address(address))]));
        upstream.says(EDGE, AAAA, Say::NoData(Some(60)));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = configured(
        folder.path(),
        &format!(
            "[alias]\nallow_private_targets = true\nmax_targets = 2\nede_text = \"target\"\nexpose_type = true\n\
             [alias.upstream.default]\nservers = [\"{}\"]\n[alias.upstream.inside]\nservers = [\"{}\"]\n\
             [alias.owners.team]\nallow = [\"proxy.test\"]\ndeny = [\"bad.proxy.test\"]\n",
            outside.address, inside.address
        ),
    );
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let options = json!({"upstreamGroup": "inside", "allowPrivate": true});
    let (status, report) = put(&server, "in.example.com./ALIAS", json!({"values": [EDGE], "alias": options}));
    assert_eq!(status, 200, "{report}");
    assert_eq!(put(&server, "out.example.com./ALIAS", json!({"values": [EDGE]})).0, 200);
    let hidden = json!({"upstreamGroup": "inside"});
    assert_eq!(put(&server, "hidden.example.com./ALIAS", json!({"values": [EDGE], "alias": hidden})).0, 200);
    assert_eq!(server.ask("in.example.com", "A").data(), ["10.0.0.10"]);
    assert_eq!(server.ask("out.example.com", "A").data(), ["192.0.2.10"]);
    let filtered = server.ask("hidden.example.com", "A");
    assert_eq!(filtered.answer.len(), 0);
    let text = "alias addresses rejected by policy: edge-7f3a.proxy.test.";
    assert_eq!(extended(&filtered), Some((0, text)), "{filtered:?}");
    // A zone's group is that of its records which name none.
    let (status, body) = server.api("PATCH", "/v1/zones/example.com.", Some(json!({"upstreamGroup": "inside"})));
    assert_eq!(status, 200, "{body}");
    assert_eq!(server.ask("out.example.com", "A").answer.len(), 0, "it is asked of the other group, and internal");
    for (target, code) in [("www.elsewhere.test.", "alias_target_denied"), ("x.bad.proxy.test.", "alias_target_denied")]
    {
        let (status, problem) = put(&server, "no.example.com./ALIAS", json!({"values": [target]}));
        assert_eq!((status, &problem["code"]), (422, &json!(code)), "{problem}");
    }
    assert_eq!(put(&server, "two.example.com./ALIAS?targetCheck=off", json!({"values": ["b.proxy.test."]})).0, 200);
    let (status, problem) =
        put(&server, "three.example.com./ALIAS?targetCheck=off", json!({"values": ["c.proxy.test."]}));
    assert_eq!((status, &problem["code"]), (422, &json!("alias_quota_exceeded")), "{problem}");
}

#[test]
fn the_incident_with_a_target_in_a_trusted_zone_here_and_in_the_right_order() {
    let world = World::new();
    let server = world.server();
    let above = json!({"parent": "k8s:prod", "kind": "HTTPProxy", "records": []});
    assert_eq!(server.api("PUT", &format!("/v1/owners/{}/records", part(PROXY)), Some(above)).0, 200);
    let (status, body) = server.api("PUT", "/v1/zones/proxy.test.", Some(json!({"owner": "k8s:prod"})));
    assert_eq!(status, 201, "{body}");
    let target = "/v1/owners/edges/records/edge-7f3a.proxy.test./A";
    let build = || server.api("PUT", target, Some(json!({"values": ["192.0.2.20"], "ttl": 60})));
    assert_eq!(build().0, 200);
    world.apply(alias_and_txt());
    let before = world.lookups();
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.20"], "the zone here, not the resolver");
    // Torn down with the ALIAS left behind: refused where that is asked for, else NODATA at once.
    let (status, problem) = server.api("DELETE", &format!("{target}?refs=block"), None);
    assert_eq!((status, &problem["code"]), (409, &json!("referenced_by")), "{problem}");
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.20"]);
    let (status, report) = server.api("DELETE", target, None);
    assert_eq!((status, &report["dangling"][0]["owner"]), (200, &json!(GATEWAY)), "{report}");
    let reply = server.ask_both("www.example.com", "A");
    assert_eq!((reply.rcode.as_str(), reply.answer.len()), ("NOERROR", 0), "{reply:?}");
    assert!(reply.authority[0].starts_with("example.com. 60 "), "{reply:?}");
    assert_eq!(extended(&reply), Some((0, "alias target does not exist")));
    let list = world.targets("state=TargetNXDomain&owner=k8s:prod");
    assert_eq!(list["items"][0]["target"], EDGE, "{list}");
    // It is back with the next query after it is.
    assert_eq!(build().0, 200);
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.20"]);
    // In the right order: the names first. What pointed there is gone, and the tear-down touches nobody else.
    world.apply(json!([]));
    assert_eq!(server.ask_both("www.example.com", "A").rcode, "NXDOMAIN");
    let serial = server.ask("example.com", "SOA").data()[0].to_owned();
    let (status, report) = server.api("DELETE", &format!("{target}?refs=block"), None);
    assert_eq!(status, 200, "{report}");
    assert!(report["dangling"].as_array().is_none_or(Vec::is_empty), "{report}");
    assert_eq!(server.ask("example.com", "SOA").data()[0], serial);
    assert_eq!(server.ask_both("www.example.com", "A").rcode, "NXDOMAIN");
    assert_eq!(world.lookups(), before, "nobody was asked");
}
