//! Zones: made, taken over, imported into, deleted; an SOA and NS at all times (ownership.md sections 1 and 3.5).

use std::sync::Arc;

use tenured::ledger::actor::Role;
use tenured::ledger::code::Code;
use tenured::ledger::command::{Command, CreateZone, ImportZone, OnConflict, UpdateZone};
use tenured::ledger::report::ItemOutcome;
use tenured::wire::codes::Rtype;
use tenured::wire::presentation;
use tenured::zone::node::RRset;

use crate::support::{Server, actor, id, items, name, token_of};

fn file(origin: &str, records: &[(&str, &str, &str)]) -> ImportZone {
    let rrsets = records
        .iter()
        .map(|(owner, rtype, value)| {
            let rtype: Rtype = rtype.parse().expect("a type");
            let records = value.split(" | ").map(|one| presentation::rdata_from_text(rtype, one, None).expect("data"));
            (name(owner), RRset { rtype, ttl: 3600, records: records.collect() })
        })
        .collect();
    ImportZone {
        origin: name(origin),
        rrsets: Arc::new(rrsets),
        owner: None,
        prune: true,
        atomic: false,
        on_conflict: OnConflict::Reject,
        max_deletes: None,
    }
}

fn company(serial: u32) -> ImportZone {
    let soa = format!("ns1.example.net. hostmaster.example.net. {serial} 7200 900 1209600 300");
    file(
        "example.com.",
        &[
            ("example.com.", "SOA", &soa),
            ("example.com.", "NS", "ns1.example.net. | ns2.example.net."),
            ("example.com.", "ALIAS", "www.example.com."),
            ("www.example.com.", "A", "192.0.2.80"),
            ("sub.example.com.", "NS", "ns.sub.example.com."),
            ("ns.sub.example.com.", "A", "192.0.2.53"),
            ("lost.sub.example.com.", "TXT", "\"hidden\""),
        ],
    )
}

#[tokio::test]
async fn a_new_zone_has_the_servers_own_soa_and_ns() {
    let server = Server::start().await;
    let create = CreateZone {
        nameservers: Some(vec![name("ns1.example.net."), name("ns2.example.net.")]),
        contact: Some("dns.admin@example.net".to_owned()),
        owner: Some(id("team-a")),
        ..CreateZone::new(name("example.com."))
    };
    let report = server.run(Command::CreateZone(create.clone())).await.expect("a zone");
    assert_eq!(report.subject, Some(ItemOutcome::Created));
    assert_eq!(server.values("example.com.", "NS"), ["ns1.example.net.", "ns2.example.net."]);
    let soa = server.values("example.com.", "SOA");
    assert_eq!(soa, ["ns1.example.net. dns\\.admin.example.net. 2026113001 10800 3600 604800 3600"]);
    let again = server.run(Command::CreateZone(create.clone())).await.expect("the same again");
    assert_eq!((again.subject, again.changed), (Some(ItemOutcome::Unchanged), false));
    let other = CreateZone { owner: Some(id("team-b")), ..create };
    let refused = server.run(Command::CreateZone(other)).await.expect_err("it exists");
    assert_eq!(refused.code(), Code::ZoneExists);
    assert_eq!(refused.problem.holder.map(|holder| holder.owner), Some(id("team-a")));
    let zone = server.reader.zone(&name("example.com.")).await.expect("a look-up").expect("a zone");
    assert_eq!((zone.zone.owner, zone.zone.serial), (id("team-a"), 2026113001));
}

#[tokio::test]
async fn soa_and_ns_are_taken_over_by_writing_and_handed_back_by_letting_go() {
    let server = Server::with_zone().await;
    let mut serials = vec![server.serial("example.com.")];
    for _ in 0..3 {
        server.put("door", "example.com. NS ns1.example.net. | ns2.example.net.").await.expect("a takeover");
        server.put("door", "example.com. SOA ns1.example.net. h.example.net. 5 1 2 3 4").await.expect("a takeover");
        serials.push(server.serial("example.com."));
        assert_eq!(server.claims_at("example.com.").await, ["example.com. NS door held", "example.com. SOA door held"]);
        server.delete("door", "example.com.", "SOA").await.expect("letting go");
        server.delete("door", "example.com.", "NS").await.expect("letting go");
        assert_eq!(
            server.claims_at("example.com.").await,
            ["example.com. NS system:tenured held", "example.com. SOA system:tenured held"]
        );
        assert_eq!(server.values("example.com.", "NS"), ["ns1.example.net.", "ns2.example.net."]);
        assert!(server.values("example.com.", "SOA")[0].ends_with(" 1 2 3 4"));
        serials.push(server.serial("example.com."));
    }
    assert!(serials.is_sorted(), "{serials:?}");
    let handed_back = ["example.com. NS system:tenured held", "example.com. SOA system:tenured held"];
    for turn in 0..2 {
        let records =
            ["example.com. NS ns3.example.net.", "example.com. SOA ns1.example.net. h.example.net. 5 1 2 3 4"];
        server.apply("door", &records).await;
        assert_eq!(server.claims_of("system:tenured").await.len(), 0);
        // By its full set as by its end.
        if turn == 0 {
            server.apply("door", &[]).await;
        } else {
            server.delete_owner("door").await.expect("a delete");
        }
        assert_eq!(server.claims_at("example.com.").await, handed_back);
        assert_eq!(server.values("example.com.", "NS"), ["ns3.example.net."]);
    }
}

#[tokio::test]
async fn a_file_is_imported_with_its_serial_and_again_without_a_change() {
    let server = Server::start().await;
    let report = server.run(Command::ImportZone(company(17))).await.expect("an import");
    assert_eq!(report.subject, Some(ItemOutcome::Created));
    assert_eq!(report.summary.count(ItemOutcome::Created), 7, "{:?}", items(&report));
    assert_eq!(server.serial("example.com."), 17);
    assert_eq!(server.values("example.com.", "ALIAS"), ["www.example.com. 7"]);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert_eq!(report.warnings[0].code, "occluded");
    assert_eq!(server.claims_of("zone:example.com.").await.len(), 7);
    assert!(server.claims_of("system:tenured").await.is_empty());
    let history = server.history_length().await;
    let again = server.run(Command::ImportZone(company(17))).await.expect("the same again");
    assert!(!again.changed, "{:?}", items(&again));
    assert_eq!(server.history_length().await, history);
    server.run(Command::ImportZone(company(3_000_000))).await.expect("a higher serial");
    assert_eq!(server.serial("example.com."), 3_000_000);
    server.run(Command::ImportZone(company(18))).await.expect("a lower serial");
    assert_eq!(server.serial("example.com."), 3_000_000);
    let server = server.restart().await;
    assert!(server.alarms.is_empty(), "{:?}", server.alarms);
    assert_eq!(server.serial("example.com."), 3_000_000);
    assert_eq!(server.values("lost.sub.example.com.", "TXT"), ["\"hidden\""]);
}

#[tokio::test]
async fn an_import_leaves_other_owners_claims_and_prunes_its_own() {
    let server = Server::with_zone().await;
    server.apply("team-a", &["www.example.com. A 192.0.2.1", "api.example.com. A 192.0.2.2"]).await;
    let report = server.run(Command::ImportZone(company(1))).await.expect("an import");
    assert_eq!(items(&report), ["www.example.com. A conflict owned_by_other by team-a"]);
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
    assert_eq!(server.values("example.com.", "NS"), ["ns1.example.net.", "ns2.example.net."]);
    let mut smaller = company(1);
    Arc::make_mut(&mut smaller.rrsets)
        .retain(|(owner, _)| !owner.to_string().contains("sub") && !owner.to_string().starts_with("www"));
    let report = server.run(Command::ImportZone(smaller)).await.expect("an import");
    assert_eq!(report.summary.count(ItemOutcome::Deleted), 3);
    assert_eq!(server.values("api.example.com.", "A"), ["192.0.2.2"]);
}

#[tokio::test]
async fn a_deleted_and_recreated_zone_inherits_nothing() {
    let server = Server::start().await;
    server.run(Command::ImportZone(company(17))).await.expect("an import");
    server.apply("team-a", &["api.example.com. A 192.0.2.2"]).await;
    let refused = server.run_as(token_of("team-b"), Command::DeleteZone(name("example.com."))).await;
    assert_eq!(refused.expect_err("not theirs").code(), Code::Forbidden);
    server.run(Command::DeleteZone(name("example.com."))).await.expect("a delete");
    assert!(server.handle.published().get().zone(&name("example.com.")).is_none());
    assert!(server.claims(Default::default()).await.is_empty());
    let missing = server.run(Command::DeleteZone(name("example.com."))).await.expect_err("it is gone");
    assert_eq!(missing.code(), Code::NotFound);
    let create = CreateZone { owner: Some(id("team-b")), ..CreateZone::new(name("example.com.")) };
    server.run(Command::CreateZone(create)).await.expect("a new zone");
    assert_eq!(server.served("example.com.").len(), 2);
    assert!(server.is_nxdomain("www.example.com."));
    let zone = server.reader.zone(&name("example.com.")).await.expect("a look-up").expect("a zone");
    assert_eq!(zone.zone.owner, id("team-b"));
}

#[tokio::test]
async fn a_tenants_zone_needs_its_zone_owners_consent_above_and_below() {
    let server = Server::start().await;
    let create = |zone: &str| Command::CreateZone(CreateZone::new(name(zone)));
    server.run_as(token_of("team-a"), create("example.com.")).await.expect("a zone of team-a");
    for zone in ["sub.example.com.", "com."] {
        let refused = server.run_as(token_of("team-b"), create(zone)).await.expect_err("another's names");
        assert_eq!(refused.code(), Code::Forbidden, "{zone}");
    }
    server.run_as(token_of("team-a"), create("sub.example.com.")).await.expect("below its own");
    server.run_as(token_of("team-b"), create("evilexample.com.")).await.expect("beside it");
    let refused = server.run_as(actor(Role::Read), create("example.net.")).await.expect_err("it only reads");
    assert_eq!(refused.code(), Code::Forbidden);
    let zone = server.reader.zone(&name("sub.example.com.")).await.expect("a look-up").expect("a zone");
    assert_eq!(zone.zone.owner, id("team-a"));
}

#[tokio::test]
async fn a_zone_outlives_its_owner() {
    let server = Server::start().await;
    let create = CreateZone { owner: Some(id("team-a")), ..CreateZone::new(name("example.com.")) };
    server.run(Command::CreateZone(create)).await.expect("a zone");
    server.delete_owner("team-a").await.expect("a delete");
    assert_eq!(server.served("example.com.").len(), 2);
    let zone = server.reader.zone(&name("example.com.")).await.expect("a look-up").expect("a zone");
    assert_eq!(zone.zone.owner, id("zone:example.com."));
    assert!(server.restart().await.alarms.is_empty());
}

#[tokio::test]
async fn a_zones_keys_change_without_its_serial() {
    let server = Server::with_zone().await;
    let serial = server.serial("example.com.");
    let update = UpdateZone {
        name: name("example.com."),
        default_ttl: Some(60),
        owner: Some(id("team-a")),
        upstream_group: Some(Some("internal".to_owned())),
    };
    let report = server.run(Command::UpdateZone(update.clone())).await.expect("an update");
    assert_eq!((report.subject, report.serials.len()), (Some(ItemOutcome::Updated), 0));
    assert_eq!(server.run(Command::UpdateZone(update)).await.expect("again").subject, Some(ItemOutcome::Unchanged));
    server.apply("team-a", &["www.example.com. A 192.0.2.1"]).await;
    assert_eq!(server.served("www.example.com."), ["A 60 192.0.2.1"]);
    assert_eq!(server.serial("example.com."), serial + 1);
    let row = server.reader.zone(&name("example.com.")).await.expect("a look-up").expect("a zone").zone;
    assert_eq!(server.handle.published().get().zone(&row.name).map(|zone| zone.owner()), Some(row.owner_number.0));
}

#[tokio::test]
async fn a_large_file_is_whole_in_store_and_snapshot_and_keeps_the_rules() {
    let server = Server::start().await;
    let mut import = company(17);
    let a = |number: u32| RRset { rtype: Rtype::A, ttl: 60, records: vec![number.to_be_bytes().to_vec()] };
    for number in (0..5_000_u32).rev() {
        Arc::make_mut(&mut import.rrsets).push((name(&format!("h{number}.example.com.")), a(number)));
    }
    let cname = RRset { rtype: Rtype::CNAME, ttl: 60, records: vec![name("x.example.").as_wire().to_vec()] };
    Arc::make_mut(&mut import.rrsets).push((name("h7.example.com."), cname.clone()));
    Arc::make_mut(&mut import.rrsets).push((name("h8.example.com."), a(8)));
    let dname = RRset { rtype: Rtype::DNAME, ..cname };
    Arc::make_mut(&mut import.rrsets).push((name("h9.example.com."), dname));
    Arc::make_mut(&mut import.rrsets).push((name("x.h9.example.com."), a(9)));
    Arc::make_mut(&mut import.rrsets).push((name("x.example.net."), a(9)));
    // Records in another order than that of a claim, and one of them twice.
    let [two, one] = [2, 1].map(|number: u32| number.to_be_bytes().to_vec());
    let several = RRset { records: vec![two.clone(), one, two], ..a(0) };
    Arc::make_mut(&mut import.rrsets).push((name("several.example.com."), several));
    let report = server.run(Command::ImportZone(import)).await.expect("an import");
    let mut refused = items(&report);
    refused.sort();
    assert_eq!(
        refused,
        [
            "h7.example.com. CNAME conflict cname_exclusive by zone:example.com.",
            "h8.example.com. A invalid invalid_record",
            "x.example.net. A invalid name_out_of_zone",
            "x.h9.example.com. A invalid occluded by zone:example.com.",
        ]
    );
    assert_eq!(report.warnings.len(), 1);
    let served = server.handle.published().get().record_count();
    assert_eq!(server.claims_of("zone:example.com.").await.len(), 7 + 5_000 + 2);
    assert_eq!(server.values("several.example.com.", "A"), ["0.0.0.1", "0.0.0.2"]);
    let server = server.restart().await;
    assert!(server.alarms.is_empty(), "{:?}", server.alarms);
    assert_eq!(server.handle.published().get().record_count(), served);
    assert_eq!(server.values("h4999.example.com.", "A"), ["0.0.19.135"]);
    assert_eq!(server.values("several.example.com.", "A"), ["0.0.0.1", "0.0.0.2"]);
    assert_eq!(server.serial("example.com."), 17);
}

#[tokio::test]
async fn deleting_a_zone_tells_what_it_took_and_the_history_has_it() {
    let server = Server::with_zone().await;
    server.put("zone:example.com.", "www.example.com. A 192.0.2.1").await.expect("a record of the zone's own");
    server.put("team", "team.example.com. A 192.0.2.2").await.expect("a record");
    let report = server.run(Command::DeleteZone(name("example.com."))).await.expect("deleted");
    let mut texts = items(&report);
    texts.sort();
    let gone = ["example.com. NS", "example.com. SOA", "team.example.com. A", "www.example.com. A"];
    assert_eq!(texts, gone.map(|text| format!("{text} deleted")));
    assert_eq!(report.summary.count(ItemOutcome::Deleted), 4);
    let changes = server.reader.changes(&Default::default()).await.expect("the history").items;
    let of_it = changes.iter().filter(|row| row.revision == report.revision);
    let rows: Vec<String> = of_it.map(|row| format!("{} {}", row.name, row.rtype)).collect();
    for row in ["example.com. zone", "team.example.com. A", "www.example.com. A"] {
        assert!(rows.contains(&row.to_owned()), "{row}: {rows:?}");
    }
    let zone = changes.iter().find(|row| row.rtype == "zone" && row.after.is_none()).expect("its row");
    assert!(zone.before.as_deref().is_some_and(|text| text.contains(r#""records":4"#)), "{zone:?}");
}
