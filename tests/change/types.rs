//! Types that exclude each other, and what cuts and DNAMEs hide (ownership.md section 1, alias.md section 2).

use tenured::ledger::alias_options::{AliasOptions, StaticMode};
use tenured::ledger::code::Code;
use tenured::ledger::command::{Change, Command};

use crate::support::{Server, id, record};

#[tokio::test]
async fn a_cname_stands_alone() {
    let server = Server::with_zone().await;
    server.put("a", "www.example.com. CNAME edge.example.net.").await.expect("a CNAME");
    for (owner, text) in [
        ("a", "www.example.com. A 192.0.2.1"),
        ("b", "www.example.com. TXT hello"),
        ("b", "www.example.com. ALIAS e.example.net."),
    ] {
        assert_eq!(server.put(owner, text).await.expect_err("beside a CNAME").code(), Code::CnameExclusive, "{text}");
    }
    server.put("a", "host.example.com. A 192.0.2.1").await.expect("an A");
    let refused = server.put("b", "host.example.com. CNAME edge.example.net.").await.expect_err("beside an A");
    assert_eq!(refused.code(), Code::CnameExclusive);
    let refused = server.put("b", "example.com. CNAME edge.example.net.").await.expect_err("at an apex");
    assert_eq!(refused.code(), Code::CnameExclusive);
}

#[tokio::test]
async fn an_alias_stands_beside_anything_but_cname_and_addresses() {
    let server = Server::with_zone().await;
    server.put("a", "www.example.com. ALIAS edge.example.net.").await.expect("an ALIAS");
    server.put("b", "www.example.com. TXT hello").await.expect("a TXT of another owner");
    assert_eq!(
        server.put("a", "www.example.com. CNAME e.example.net.").await.expect_err("CNAME").code(),
        Code::AliasExclusive
    );
    assert_eq!(server.put("a", "www.example.com. A 192.0.2.1").await.expect_err("A").code(), Code::AliasExclusive);
    assert_eq!(server.put("b", "www.example.com. A 192.0.2.1").await.expect_err("A").code(), Code::OwnedByOther);
    let options = AliasOptions { static_mode: StaticMode::Override, ..AliasOptions::default() };
    let mut wish = record("www.example.com. ALIAS edge.example.net.");
    wish.alias = Some(options);
    server.run(Command::Change(Change::put(id("a"), wish))).await.expect("other options");
    server.put("a", "www.example.com. A 192.0.2.1").await.expect("an A in the place of the ALIAS");
    // The ALIAS is left with AAAA.
    assert_eq!(server.values("www.example.com.", "ALIAS"), ["edge.example.net. 6"]);
    server.delete("a", "www.example.com.", "A").await.expect("a delete");
    assert_eq!(server.values("www.example.com.", "ALIAS"), ["edge.example.net. 7"]);
}

#[tokio::test]
async fn no_alias_stands_at_a_name_server_of_its_zone() {
    let server = Server::with_zone().await;
    let refused =
        server.put("a", "ns1.example.com. ALIAS edge.example.net.").await.expect_err("the zone's name server");
    assert_eq!(refused.code(), Code::AliasNameServer);
    server.put("a", "ns2.example.com. ALIAS edge.example.net.").await.expect("no name server yet");
    for text in ["example.com. NS ns2.example.com. | ns.example.net.", "sub.example.com. NS NS2.example.com."] {
        let refused = server.put("b", text).await.expect_err("an ALIAS");
        assert_eq!(refused.code(), Code::AliasNameServer, "{text}");
    }
}

#[tokio::test]
async fn nothing_but_glue_is_written_below_a_cut_and_no_cut_above_what_it_would_hide() {
    let server = Server::with_zone().await;
    server.put("a", "sub.example.com. NS ns.sub.example.com.").await.expect("a cut");
    server.put("b", "ns.sub.example.com. A 192.0.2.53").await.expect("glue");
    server.put("b", "sub.example.com. DS 1 8 2 2A2B").await.expect("a DS");
    for text in [
        "x.sub.example.com. TXT hidden",
        "sub.example.com. MX 10 mail.example.com.",
        "x.sub.example.com. ALIAS e.example.net.",
    ] {
        let refused = server.put("b", text).await.expect_err("hidden");
        assert_eq!(refused.code(), Code::Occluded, "{text}");
    }
    server.put("b", "deep.other.example.com. TXT here").await.expect("a TXT");
    let refused = server.put("a", "other.example.com. NS ns.example.net.").await.expect_err("it would hide the TXT");
    assert_eq!(refused.code(), Code::Occluded);
    assert_eq!(refused.problem.holder.map(|holder| holder.owner), Some(id("b")));
    server.delete("b", "deep.other.example.com.", "TXT").await.expect("a delete");
    server.put("a", "other.example.com. NS ns.example.net.").await.expect("nothing hidden any more");
}

#[tokio::test]
async fn a_dname_has_nothing_below_it() {
    let server = Server::with_zone().await;
    server.put("a", "old.example.com. DNAME new.example.net.").await.expect("a DNAME");
    server.put("a", "old.example.com. A 192.0.2.1").await.expect("addresses beside it");
    assert_eq!(server.put("b", "x.old.example.com. A 192.0.2.1").await.expect_err("below").code(), Code::Occluded);
    assert_eq!(
        server.put("a", "old.example.com. CNAME x.example.").await.expect_err("CNAME").code(),
        Code::CnameExclusive
    );
    server.put("b", "x.y.example.com. A 192.0.2.1").await.expect("an A");
    assert_eq!(server.put("a", "y.example.com. DNAME z.example.").await.expect_err("above").code(), Code::Occluded);
    assert_eq!(server.put("a", "example.com. DNAME z.example.").await.expect_err("above").code(), Code::Occluded);
}

#[tokio::test]
async fn at_the_apex_of_a_delegated_zone_addresses_are_owned_like_any_other() {
    let server = Server::with_zone().await;
    server.create_zone("app.example.com.").await;
    server.put("stray", "app.example.com. AAAA 2001:db8::bad").await.expect("an AAAA of somebody");
    let report = server.apply("lb", &["app.example.com. A 192.0.2.1", "app.example.com. AAAA 2001:db8::1"]).await;
    assert_eq!(
        crate::support::items(&report),
        ["app.example.com. A created", "app.example.com. AAAA conflict owned_by_other by stray"]
    );
    assert_eq!(server.values("app.example.com.", "A"), ["192.0.2.1"]);
    server.delete_owner("stray").await.expect("a delete");
    server.apply("lb", &["app.example.com. A 192.0.2.2", "app.example.com. AAAA 2001:db8::1"]).await;
    assert_eq!(server.values("app.example.com.", "AAAA"), ["2001:db8::1"]);
    server.apply("lb", &[]).await;
    assert_eq!(server.served("app.example.com.").len(), 2);
}
