//! The matrix of permissions: every caller, every write, own, descendant, foreign and shared records, every spelling of a
//! name. What is expected follows from `Rule`, which was written from the rules of ownership and knows nothing of the code.

use serde_json::{Value, json};
use tenured::api::failures::REFILL_MILLISECONDS;

use super::service::{Service, part};

/// Who is above whom.
const PARENTS: [(&str, &str); 2] = [("team-a/web", "team-a"), ("team-a/web/deep", "team-a/web")];
/// Owners with the label of their record, as an A-label and as a U-label.
const RECORDS: [(&str, &str, &str); 4] = [
    ("team-a", "xn--bcher-kva", "bücher"),
    ("team-a/web", "xn--zrich-kva", "zürich"),
    ("team-a/web/deep", "xn--mller-kva", "müller"),
    ("team-b", "xn--mnchen-3ya", "münchen"),
];
/// A record that `team-a` and `team-b` share.
const SHARED: (&str, &str) = ("xn--kln-sna", "köln");

/// What a token may do, as a person would say it.
#[derive(Clone, Debug)]
enum Power {
    Nobody,
    Reads,
    Writes { root: &'static str, zones: Option<bool>, names: Option<&'static str>, types: Option<&'static str> },
    All,
}

#[derive(Clone, Debug)]
struct Caller {
    name: &'static str,
    token: Option<String>,
    power: Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Unknown,
    Denied,
    Allowed,
}

/// The rules, from the outside: 401 for who is not known, 403 for who may not.
struct Rule;

impl Rule {
    fn covers(root: &str, owner: &str) -> bool {
        let mut at = Some(owner);
        while let Some(one) = at {
            if one == root {
                return true;
            }
            at = PARENTS.iter().find(|(child, _)| *child == one).map(|(_, parent)| *parent);
        }
        false
    }

    /// A write for an owner that touches no record.
    fn owner(power: &Power, owner: &str) -> Verdict {
        match power {
            Power::Nobody => Verdict::Unknown,
            Power::Reads => Verdict::Denied,
            Power::All => Verdict::Allowed,
            Power::Writes { root, .. } if Rule::covers(root, owner) => Verdict::Allowed,
            Power::Writes { .. } => Verdict::Denied,
        }
    }

    /// A write of a record of type A in `example.com.`; `label` is its A-label.
    fn record(power: &Power, owner: &str, label: &str) -> Verdict {
        let verdict = Rule::owner(power, owner);
        let Power::Writes { zones, names, types, .. } = power else { return verdict };
        let name = names.is_none_or(|limit| match limit.strip_prefix('.') {
            Some("example.com") => true,
            Some(_) => false,
            None => limit == format!("{label}.example.com"),
        });
        let limits = zones.unwrap_or(true) && name && types.is_none_or(|rtype| rtype == "A");
        if limits { verdict } else { Verdict::Denied.min_with(verdict) }
    }

    fn admin(power: &Power) -> Verdict {
        match power {
            Power::Nobody => Verdict::Unknown,
            Power::Reads | Power::Writes { .. } => Verdict::Denied,
            Power::All => Verdict::Allowed,
        }
    }
}

impl Verdict {
    fn min_with(self, other: Verdict) -> Verdict {
        if other == Verdict::Unknown { other } else { self }
    }

    /// What an answer says: an item that is forbidden is a denial, whatever the status of the whole.
    fn of(status: u16, answer: &Value) -> Verdict {
        let items = ["results", "refused"].into_iter().flat_map(|key| answer[key].as_array()).flatten();
        match status {
            401 => Verdict::Unknown,
            403 => Verdict::Denied,
            _ if items.clone().any(|item| item["code"] == "forbidden") => Verdict::Denied,
            _ => Verdict::Allowed,
        }
    }
}

fn callers(service: &Service) -> Vec<Caller> {
    let made = |body: Value| {
        let (status, token) = service.api("POST", "/v1/tokens", Some(&body.to_string()));
        assert_eq!(status, 201, "{token}");
        Some(token["token"].as_str().expect("its text").to_owned())
    };
    let writes = |root| Power::Writes { root, zones: None, names: None, types: None };
    let owner = |root: &'static str| (made(json!({"name": "t", "role": "owner", "owner": root})), writes(root));
    let limited = |key: &str, value: &str, power: Power| {
        let mut body = json!({"name": "t", "role": "owner", "owner": "team-a"});
        body[key] = json!([value]);
        (made(body), power)
    };
    let of_a = |zones, names, types| Power::Writes { root: "team-a", zones, names, types };
    let expired = made(json!({"name": "t", "role": "admin", "expiresAt": "2026-11-30T12:00:30Z"}));
    let all = [
        ("none", (None, Power::Nobody)),
        ("invalid", (Some(format!("{}0", service.token())), Power::Nobody)),
        ("expired", (expired, Power::Nobody)),
        ("read", (made(json!({"name": "t", "role": "read"})), Power::Reads)),
        ("admin", (Some(service.token()), Power::All)),
        ("team-a", owner("team-a")),
        ("team-a/web", owner("team-a/web")),
        ("team-b", owner("team-b")),
        ("other zones", limited("zones", "*.net", of_a(Some(false), None, None))),
        ("its zones", limited("zones", "EXAMPLE.*", of_a(Some(true), None, None))),
        ("its name", limited("names", "BÜCHER.example.com.", of_a(None, Some("xn--bcher-kva.example.com"), None))),
        ("all names", limited("names", ".example.com", of_a(None, Some(".example.com"), None))),
        ("other names", limited("names", ".apps.example.com", of_a(None, Some(".apps.example.com"), None))),
        ("its type", limited("types", "TYPE1", of_a(None, None, Some("A")))),
        ("other types", limited("types", "TXT", of_a(None, None, Some("TXT")))),
    ];
    service.clock.advance(60_000);
    all.into_iter().map(|(name, (token, power))| Caller { name, token, power }).collect()
}

fn filled() -> Service {
    let service = Service::with_zone();
    let put = |owner: &str, body: Value| {
        let path = format!("/v1/owners/{}/records?prune=false", part(owner));
        let (status, report) = service.api("PUT", &path, Some(&body.to_string()));
        assert_eq!(status, 200, "{report}");
    };
    for (owner, label, _) in RECORDS {
        let records = json!([{"name": format!("{label}.example.com."), "type": "A", "values": ["192.0.2.1"]}]);
        let parent = PARENTS.iter().find(|(child, _)| *child == owner).map(|(_, parent)| *parent);
        put(owner, json!({"parent": parent, "records": records}));
    }
    let name = format!("{}.example.com.", SHARED.0);
    for owner in ["team-a", "team-b"] {
        put(owner, json!({"records": [{"name": name, "type": "A", "values": ["192.0.2.7"], "share": true}]}));
    }
    for (zone, owner) in [("a.example.", "team-a"), ("b.example.", "team-b")] {
        let body = json!({"owner": owner}).to_string();
        assert_eq!(service.api("PUT", &format!("/v1/zones/{zone}"), Some(&body)).0, 201);
    }
    service
}

/// Each spelling of a name as it stands in a path, and the zone it is relative to; all are one name.
fn spellings(label: &str, unicode: &str) -> Vec<(String, Option<&'static str>)> {
    let upper: String = unicode.chars().flat_map(char::to_uppercase).collect();
    let each_octet: String = format!("{label}.example.com.").bytes().map(|octet| format!("%{octet:02x}")).collect();
    let escaped: String = format!("\\{:03}{}", label.as_bytes()[0], &label[1..]);
    vec![
        (part(&format!("{label}.example.com.")), None),
        (part(&format!("{label}.example.com")), None),
        (part(&format!("{}.EXAMPLE.Com.", label.to_uppercase())), None),
        (part(&format!("{unicode}.example.com")), None),
        (part(&format!("{upper}.eXample.com.")), None),
        (part(&format!("{escaped}.example.com.")), None),
        (part(&format!("{label}.e\\120ample.com")), None),
        (format!("{label}.example.com."), None),
        (format!("{label}%2eexample%2ecom%2e"), None),
        (each_octet, None),
        (part(label), Some("EXAMPLE.com")),
        (part(unicode), Some("example.com.")),
    ]
}

#[derive(Default)]
struct Count {
    judged: usize,
    wrong_allows: Vec<String>,
    wrong_denials: Vec<String>,
}

impl Count {
    fn ask(
        &mut self,
        service: &Service,
        caller: &Caller,
        wanted: Verdict,
        (method, path, body): (&str, &str, Option<&Value>),
    ) {
        if caller.name == "invalid" || caller.name == "expired" {
            service.clock.advance(REFILL_MILLISECONDS);
        }
        let join = if path.contains('?') { '&' } else { '?' };
        let path = if method == "GET" { path.to_owned() } else { format!("{path}{join}dryRun=true") };
        let body = body.map(Value::to_string);
        let (status, answer) = service.api_as(caller.token.as_deref(), method, &path, body.as_deref());
        assert!(status < 500, "{} {method} {path}: {status} {answer}", caller.name);
        let got = Verdict::of(status, &answer);
        self.judged += 1;
        let line = format!("{}: {method} {path} {body:?}: {got:?}, not {wanted:?}: {status} {answer}", caller.name);
        match (got, wanted) {
            (Verdict::Allowed, Verdict::Denied | Verdict::Unknown) => self.wrong_allows.push(line),
            (got, wanted) if got != wanted => self.wrong_denials.push(line),
            (_, _) => {}
        }
    }

    fn finish(self, what: &str, least: usize) {
        println!(
            "{what}: {} judged, {} wrong allows, {} wrong denials",
            self.judged,
            self.wrong_allows.len(),
            self.wrong_denials.len()
        );
        let first = |lines: &[String]| lines.iter().take(8).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.wrong_allows.is_empty(), "wrong allows:\n{}", first(&self.wrong_allows));
        assert!(self.wrong_denials.is_empty(), "wrong denials:\n{}", first(&self.wrong_denials));
        assert!(self.judged >= least, "{what}: only {} judged", self.judged);
    }
}

#[test]
fn records_are_written_by_exactly_those_who_may_however_they_are_spelt() {
    let service = filled();
    let mut count = Count::default();
    let shared = ["team-a", "team-b"].map(|owner| (owner, SHARED.0, SHARED.1));
    for caller in callers(&service) {
        for (owner, label, unicode) in RECORDS.into_iter().chain(shared) {
            let wanted = Rule::record(&caller.power, owner, label);
            let owner = part(owner);
            let share = label == SHARED.0;
            for (spelt, zone) in spellings(label, unicode) {
                let zone = zone.map(|zone| format!("?zone={zone}")).unwrap_or_default();
                let path = format!("/v1/owners/{owner}/records/{spelt}/A{zone}");
                let body = json!({"values": ["192.0.2.9"], "share": share});
                count.ask(&service, &caller, wanted, ("PUT", &path, Some(&body)));
                count.ask(&service, &caller, wanted, ("DELETE", &path, None));
            }
            for name in [
                format!("{label}.example.com"),
                format!("{unicode}.EXAMPLE.com."),
                format!("\\{:03}{}.example.com", label.as_bytes()[0], &label[1..]),
            ] {
                let record = json!({"name": name, "type": "A", "values": ["192.0.2.9"], "share": share});
                let path = format!("/v1/owners/{owner}/records");
                let apply = json!({"records": [record]});
                count.ask(&service, &caller, wanted, ("PUT", &format!("{path}?prune=false"), Some(&apply)));
                count.ask(&service, &caller, wanted, ("PATCH", &path, Some(&json!({"upsert": [record]}))));
                let delete = json!({"delete": [{"name": name, "type": "TYPE1"}]});
                count.ask(&service, &caller, wanted, ("PATCH", &path, Some(&delete)));
            }
        }
    }
    count.finish("records", 2_500);
}

#[test]
fn owners_zones_tokens_and_reads_are_for_exactly_those_who_may() {
    let service = filled();
    let mut count = Count::default();
    for caller in callers(&service) {
        let power = &caller.power;
        for (owner, label, _) in RECORDS {
            let path = format!("/v1/owners/{}", part(owner));
            count.ask(&service, &caller, Rule::owner(power, owner), ("PUT", &path, Some(&json!({"kind": "x"}))));
            let renewal = json!({"owners": [owner]});
            count.ask(&service, &caller, Rule::owner(power, owner), ("POST", "/v1/leases/renew", Some(&renewal)));
            // To whom it is given must be one's own, too.
            let own = if Rule::owner(power, "team-a") == Verdict::Allowed { "team-a" } else { "team-a/web" };
            let name = format!("{label}.example.com.");
            let transfer = json!({"from": owner, "to": own, "match": {"name": name, "type": "A"}});
            if owner != own {
                let wanted = match (Rule::record(power, owner, label), Rule::record(power, own, label)) {
                    (Verdict::Allowed, other) => other,
                    (one, _) => one,
                };
                count.ask(&service, &caller, wanted, ("POST", "/v1/transfers", Some(&transfer)));
            }
            // The deepest one has one record, so its limits decide.
            if owner == "team-a/web/deep" || owner == "team-b" {
                let wanted = if owner == "team-b" {
                    match (Rule::record(power, owner, label), Rule::record(power, owner, SHARED.0)) {
                        (Verdict::Allowed, other) => other,
                        (one, _) => one,
                    }
                } else {
                    Rule::record(power, owner, label)
                };
                count.ask(&service, &caller, wanted, ("DELETE", &format!("{path}?cascade=true"), None));
            }
        }
        for (zone, owner) in
            [("a.example", "team-a"), ("A.EXAMPLE.", "team-a"), ("%61.example", "team-a"), ("b.example", "team-b")]
        {
            let limited = matches!(power, Power::Writes { zones: Some(_), .. });
            let wanted = if limited { Verdict::Denied } else { Rule::owner(power, owner) };
            count.ask(
                &service,
                &caller,
                wanted,
                ("PATCH", &format!("/v1/zones/{zone}"), Some(&json!({"defaultTtl": 60}))),
            );
        }
        count.ask(
            &service,
            &caller,
            Rule::admin(power),
            ("POST", "/v1/tokens", Some(&json!({"name": "x", "role": "read"}))),
        );
        count.ask(&service, &caller, Rule::admin(power), ("GET", "/v1/tokens", None));
        let reads = if matches!(power, Power::Nobody) { Verdict::Unknown } else { Verdict::Allowed };
        for path in [
            "/v1/zones",
            "/v1/zones/a.example",
            "/v1/zones/a.example/zonefile",
            "/v1/zones/a.example/propagation",
            "/v1/records",
            "/v1/owners",
            "/v1/owners/team-b",
            "/v1/owners/team-b/records",
            "/v1/changes",
            "/v1/flaps",
            "/v1/conflicts",
            "/v1/orphans",
            "/v1/explain?name=a.example",
            "/v1/alias-targets",
            "/v1/aliases/a.example",
            "/v1/holds",
            "/v1/tokens/000000000000",
        ] {
            count.ask(&service, &caller, reads, ("GET", path, None));
        }
        for path in ["/livez", "/readyz", "/startupz", "/version", "/metrics", "/v1/openapi.json"] {
            count.ask(&service, &caller, Verdict::Allowed, ("GET", path, None));
        }
    }
    count.finish("owners, zones, tokens, reads", 600);
}

/// The id of the hold on the deletes of an owner, who has twelve records `h0` to `h11` of its own and would give them up.
fn hold_of(service: &Service, owner: &str, letter: char) -> String {
    let records: Vec<Value> = (0..12)
        .map(|number| json!({"name": format!("{letter}{number}.example.com."), "type": "A", "values": ["192.0.2.3"]}))
        .collect();
    let path = format!("/v1/owners/{}/records", part(owner));
    let body = json!({"records": records}).to_string();
    assert_eq!(service.api("PUT", &format!("{path}?prune=false"), Some(&body)).0, 200);
    let keep = RECORDS.iter().find(|one| one.0 == owner).map_or("", |one| one.1);
    let mut kept = vec![json!({"name": format!("{keep}.example.com."), "type": "A", "values": ["192.0.2.1"]})];
    if owner == "team-b" {
        kept.push(
            json!({"name": format!("{}.example.com.", SHARED.0), "type": "A", "values": ["192.0.2.7"], "share": true}),
        );
    }
    let (status, report) = service.api("PUT", &path, Some(&json!({"records": kept}).to_string()));
    assert_eq!(status, 207, "{report}");
    let holds = service.api("GET", "/v1/holds", None).1;
    let items = holds["items"].as_array().expect("holds");
    items.iter().find(|one| one["owner"] == owner).expect("the hold")["id"].as_str().expect("an id").to_owned()
}

#[test]
fn what_takes_much_or_undoes_it_is_for_exactly_those_who_may() {
    let service = filled();
    let mut count = Count::default();
    let holds = [("team-a/web/deep", 'd'), ("team-b", 'b')]
        .map(|(owner, letter)| (owner, letter, hold_of(&service, owner, letter)));
    // A change of a record of each owner, to be taken back.
    let changes = RECORDS.map(|(owner, label, _)| {
        let path = format!("/v1/owners/{}/records/{label}.example.com./A", part(owner));
        let (status, report) = service.api("PUT", &path, Some(r#"{"values":["192.0.2.8"]}"#));
        assert_eq!(status, 200, "{report}");
        (owner, label, report["revision"].as_u64().expect("a revision"))
    });
    for (leaf, above) in [("swept-a", "team-a"), ("swept-b", "team-b")] {
        let record = json!({"name": format!("{leaf}.example.com."), "type": "A", "values": ["192.0.2.4"]});
        let body = json!({"parent": above, "records": [record]}).to_string();
        assert_eq!(service.api("PUT", &format!("/v1/owners/{leaf}/records"), Some(&body)).0, 200);
    }
    let everybody = callers(&service);
    // What the tokens cover has two more owners now, which no record above is of.
    let sweep =
        |scope: &str, mode: &str| json!({"scope": {"owner": scope}, "live": [], "mode": mode, "maxDeletes": 100});
    for caller in &everybody {
        let power = &caller.power;
        for (owner, letter, id) in &holds {
            let wanted = Rule::record(power, owner, &format!("{letter}0"));
            count.ask(&service, caller, wanted, ("POST", &format!("/v1/holds/{id}/approve"), None));
            // To forget deletes touches no record.
            let wanted = Rule::owner(power, owner);
            count.ask(&service, caller, wanted, ("POST", &format!("/v1/holds/{id}/discard"), None));
        }
        for (owner, label, revision) in changes {
            let wanted = Rule::record(power, owner, label);
            count.ask(&service, caller, wanted, ("POST", &format!("/v1/changes/{revision}/revert"), None));
        }
        for (leaf, above) in [("swept-a", "team-a"), ("swept-b", "team-b")] {
            // Whoever may sweep the scope owns all that stands below it; limits are of the records that go.
            for mode in ["delete", "quarantine"] {
                let live = RECORDS.map(|(owner, _, _)| owner);
                let mut body = sweep(above, mode);
                body["live"] = json!(live);
                let wanted = Rule::record(power, above, leaf);
                count.ask(&service, caller, wanted, ("POST", "/v1/sweeps", Some(&body)));
            }
        }
        for (zone, owner) in [("a.example", "team-a"), ("A.EXAMPLE.", "team-a"), ("b.example", "team-b")] {
            // A token with limits owns no zone as a whole.
            let limited = matches!(power, Power::Writes { zones, names, types, .. }
                if zones.is_some() || names.is_some() || types.is_some());
            if limited {
                continue;
            }
            let wanted = Rule::owner(power, owner);
            count.ask(&service, caller, wanted, ("DELETE", &format!("/v1/zones/{zone}"), None));
            let new = json!({"owner": owner});
            count.ask(&service, caller, wanted, ("PUT", &format!("/v1/zones/new-{owner}.example"), Some(&new)));
        }
        let token = "/v1/tokens/000000000000";
        count.ask(&service, caller, Rule::admin(power), ("DELETE", token, None));
    }
    count.finish("holds, reverts, sweeps, zones, tokens", 240);
}

#[test]
fn a_path_that_only_looks_like_an_own_name_gives_nothing_away() {
    let service = filled();
    let before = service.api("GET", "/v1/records", None).1["items"].clone();
    let body = r#"{"values":["192.0.2.66"],"share":true}"#;
    let mut tried = 0;
    for caller in callers(&service) {
        for path in [
            // A slash in a name is an octet of a label, and never parts a path.
            "/v1/owners/team-a%2F..%2Fteam-b/records/xn--mnchen-3ya.example.com./A",
            "/v1/owners/team-a%2Fweb%2F../records/xn--mnchen-3ya.example.com./A",
            "/v1/owners/team-a/records/xn--mnchen-3ya%2Fexample.com./A",
            "/v1/owners/team-a/records/..%2F..%2Fteam-b%2Frecords%2Fxn--mnchen-3ya.example.com./A",
            "/v1/owners//team-a/records/xn--mnchen-3ya.example.com./A",
            "/v1//owners/team-a/records/xn--mnchen-3ya.example.com./A",
            "/v1/owners/team-a/records//xn--mnchen-3ya.example.com./A",
            "/v1/owners/team-a/../team-b/records/xn--mnchen-3ya.example.com./A",
            "/v1/owners/team-a%00/records/xn--mnchen-3ya.example.com./A",
            "/v1/owners/TEAM-B/records/xn--mnchen-3ya.example.com./A",
            "/v1/owners/team-a/records/xn--mnchen-3ya.example.com./A",
        ] {
            if matches!(caller.power, Power::Nobody) {
                service.clock.advance(REFILL_MILLISECONDS);
            }
            if matches!(caller.power, Power::All) {
                continue;
            }
            for method in ["PUT", "DELETE"] {
                let sent = (method == "PUT").then_some(body);
                let (status, answer) = service.api_as(caller.token.as_deref(), method, path, sent);
                assert!(status < 500, "{method} {path}: {answer}");
                tried += 1;
            }
        }
    }
    // Whatever was answered, what team-b has is as it was.
    let after = service.api("GET", "/v1/records", None).1["items"].clone();
    let of_b = |items: &Value| -> Vec<Value> {
        items.as_array().expect("rows").iter().filter(|row| row["owner"] == "team-b").cloned().collect()
    };
    assert_eq!(of_b(&before), of_b(&after));
    assert!(!of_b(&after).is_empty() && tried > 200);
    println!("look-alikes: {tried} tried, nothing of another owner changed");
}
