//! Tokens write for their root owner and below it, and nowhere else (ownership.md section 5).

use std::os::unix::fs::PermissionsExt;

use tenured::ledger::actor::{Actor, NameLimit, Role, TokenLimits};
use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Change, Command, CreateZone, NewToken, OwnerKeys};
use tenured::store::token;
use tenured::wire::codes::Rtype;

use crate::support::{Server, actor, apply, id, items, name, record, token_of};

#[tokio::test]
async fn the_first_start_leaves_an_admin_token_in_a_file_of_its_own() {
    let server = Server::start().await;
    let path = server.directory.path().join("tenured.db.token");
    let text = std::fs::read_to_string(&path).expect("the token file");
    let (token_id, secret) = token::split(text.trim()).expect("a token");
    let row = server.reader.token(token_id).await.expect("a look-up").expect("a token");
    assert_eq!(row.role, Role::Admin);
    assert!(token::matches(secret, &row.hash));
    for suffix in ["", ".token", ".lock", "-wal"] {
        let path = server.directory.path().join(format!("tenured.db{suffix}"));
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    let server = server.restart().await;
    assert_eq!(std::fs::read_to_string(&path).expect("the token file"), text);
    assert_eq!(server.reader.tokens().await.expect("tokens").items.len(), 1);
}

#[tokio::test]
async fn tokens_come_and_go_by_admin_alone() {
    let server = Server::start().await;
    let minted = token::mint().expect("a token");
    let limits = TokenLimits {
        zones: vec!["*.example.com".to_owned()],
        names: vec![NameLimit::Below(name("example.com."))],
        types: vec![Rtype::A, Rtype::ALIAS],
        ..TokenLimits::default()
    };
    let new = NewToken {
        id: minted.id.clone(),
        name: "ci".to_owned(),
        role: Role::Owner(id("team-a")),
        limits: limits.clone(),
        hash: minted.hash,
        expires: None,
        key: None,
    };
    let refused = server.run_as(token_of("team-a"), Command::CreateToken(new.clone())).await.expect_err("not admin");
    assert_eq!(refused.code(), Code::Forbidden);
    server.run(Command::CreateToken(new)).await.expect("a token");
    let row = server.reader.token(&minted.id).await.expect("a look-up").expect("a token");
    assert_eq!((row.limits, row.role), (limits, Role::Owner(id("team-a"))));
    server.run(Command::DeleteToken(minted.id.clone())).await.expect("a delete");
    assert!(server.reader.token(&minted.id).await.expect("a look-up").is_none());
    assert_eq!(server.run(Command::DeleteToken(minted.id)).await.expect_err("gone").code(), Code::NotFound);
}

#[tokio::test]
async fn a_token_writes_for_its_root_and_what_is_below_it() {
    let server = Server::with_zone().await;
    server.apply("foreign", &["f.example.com. A 192.0.2.9"]).await;
    let keys = |parent: &str| OwnerKeys { parent: Some(id(parent)), ..OwnerKeys::default() };
    let put = |owner: &str, keys: OwnerKeys| {
        Command::Change(Change { keys, ..Change::put(id(owner), record(&format!("{owner}.example.com. A 192.0.2.1"))) })
    };
    let own = token_of("root");
    server.run_as(own.clone(), put("root", OwnerKeys::default())).await.expect("its root");
    server.run_as(own.clone(), put("child", keys("root"))).await.expect("a child");
    server.run_as(own.clone(), put("grandchild", keys("child"))).await.expect("below the child");
    server.run_as(own.clone(), put("without", OwnerKeys::default())).await.expect("below the root by itself");
    let summary = server.reader.owner(&id("without")).await.expect("a look-up").expect("an owner");
    assert_eq!(summary.parents, [id("root")]);
    for (owner, keys) in [
        ("foreign", OwnerKeys::default()),
        ("new", keys("foreign")),
        ("child", keys("foreign")),
        ("root", keys("foreign")),
        ("zone:x", OwnerKeys::default()),
    ] {
        let refused = server.run_as(own.clone(), put(owner, keys)).await.expect_err("not below its root");
        assert_eq!(refused.code(), Code::Forbidden, "{owner}");
    }
    let refused = server.run_as(actor(Role::Read), put("root", OwnerKeys::default())).await.expect_err("it reads");
    assert_eq!(refused.code(), Code::Forbidden);
    let delete = |owner: &str| {
        let delete = tenured::ledger::command::DeleteOwner::new(id(owner));
        Command::DeleteOwner(tenured::ledger::command::DeleteOwner { cascade: true, ..delete })
    };
    assert_eq!(server.run_as(own.clone(), delete("foreign")).await.expect_err("foreign").code(), Code::Forbidden);
    let report = server.run_as(own, delete("root")).await.expect("its own");
    assert_eq!(report.owners_deleted.len(), 4);
    assert_eq!(server.values("f.example.com.", "A"), ["192.0.2.9"]);
}

#[tokio::test]
async fn soa_and_ns_of_an_apex_are_for_the_zones_owner() {
    let server = Server::start().await;
    let create = CreateZone { owner: Some(id("team-a")), ..CreateZone::new(name("example.com.")) };
    server.run(Command::CreateZone(create)).await.expect("a zone");
    let put = |owner: &str, text: &str| Command::Change(Change::put(id(owner), record(text)));
    for text in
        ["example.com. NS ns.example.net.", "example.com. SOA a. b. 1 2 3 4 5", "example.com. DNSKEY 256 3 8 AQAB"]
    {
        let refused = server.run_as(token_of("team-b"), put("team-b", text)).await.expect_err("not the zone's owner");
        assert_eq!(refused.code(), Code::Forbidden, "{text}");
    }
    server.run_as(token_of("team-b"), put("team-b", "example.com. TXT hello")).await.expect("a TXT at the apex");
    server.run_as(token_of("team-a"), put("team-a", "example.com. NS ns.example.net.")).await.expect("the owner");
}

#[tokio::test]
async fn limits_of_a_token_hold_item_by_item() {
    let server = Server::with_zone().await;
    server.create_zone("example.net.").await;
    let limits = TokenLimits {
        zones: vec!["example.com".to_owned()],
        names: vec![NameLimit::Below(name("app.example.com."))],
        types: vec![Rtype::A],
        ..TokenLimits::default()
    };
    let limited = Actor { limits, ..token_of("team") };
    let records = [
        "x.app.example.com. A 192.0.2.1",
        "app.example.com. A 192.0.2.1",
        "x.app.example.com. TXT no",
        "evilapp.example.com. A 192.0.2.1",
        "x.example.net. A 192.0.2.1",
    ];
    let report = server.run_as(limited.clone(), Command::Apply(apply("team", &records))).await.expect("an apply");
    assert_eq!(
        items(&report),
        [
            "x.app.example.com. A created",
            "app.example.com. A invalid forbidden",
            "x.app.example.com. TXT invalid forbidden",
            "evilapp.example.com. A invalid forbidden",
            "x.example.net. A invalid forbidden",
        ]
    );
    server.put("team", "mail.example.com. A 192.0.2.2").await.expect("by admin");
    let report = server.run_as(limited, Command::Apply(Apply::new(id("team"), Vec::new()))).await.expect("an apply");
    assert_eq!(items(&report), ["x.app.example.com. A deleted", "mail.example.com. A invalid forbidden"]);
}
