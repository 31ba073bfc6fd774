//! A controller over a store in a directory of its own, and short words for what tests ask of it.

use std::path::PathBuf;

use tempfile::TempDir;
use tenured::clock::Clock;
use tenured::control::{self, Handle, Options, Request};
use tenured::ledger::actor::{Actor, Door, Role, TokenLimits};
use tenured::ledger::command::{Apply, Change, Command, CreateZone, DeleteOwner, RecordName, Wish};
use tenured::ledger::owner::OwnerId;
use tenured::ledger::report::{Item, ItemOutcome, Refusal, Report};
use tenured::ledger::wish::{self, RecordText};
use tenured::store::Reader;
use tenured::store::rows::ClaimFilter;
use tenured::wire::codes::Rtype;
use tenured::wire::hashed::HashedName;
use tenured::wire::name::{HashKey, Name};
use tenured::wire::presentation;
use tenured::zone::alias::AliasRef;
use tenured::zone::alias::Moment;
use tenured::zone::content::Lookup;
use tenured::zone::walk::Trust;

/// 30 November 2026, 12:00 UTC.
pub(crate) const START: Moment = Moment(1_796_040_000_000);

pub(crate) struct Server {
    pub(crate) handle: Handle,
    pub(crate) reader: Reader,
    pub(crate) alarms: Vec<String>,
    pub(crate) clock: Clock,
    pub(crate) directory: TempDir,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start() -> Server {
        Server::start_in(tempfile::tempdir().expect("a directory"), Clock::manual(START)).await
    }

    pub(crate) async fn start_in(directory: TempDir, clock: Clock) -> Server {
        let options = Options {
            database: database(&directory),
            clock: clock.clone(),
            key: HashKey::new(0x5eed, 0x00dd),
            trust: Trust::default(),
            terms: Default::default(),
            accept_older_store: false,
        };
        let started = control::start(options).await.expect("a store that opens");
        Server {
            handle: started.handle,
            reader: started.reader,
            alarms: started.alarms,
            clock,
            directory,
            task: started.task,
        }
    }

    /// With the zone `example.com.` of `zone:example.com.`.
    pub(crate) async fn with_zone() -> Server {
        let server = Server::start().await;
        server.create_zone("example.com.").await;
        server
    }

    pub(crate) fn database(&self) -> PathBuf {
        database(&self.directory)
    }

    /// Stops in good order; the directory and the clock live on.
    pub(crate) async fn stop(self) -> (TempDir, Clock) {
        drop(self.handle);
        self.task.await.expect("the controller ends in good order");
        self.reader.close().await;
        (self.directory, self.clock)
    }

    pub(crate) async fn restart(self) -> Server {
        let (directory, clock) = self.stop().await;
        Server::start_in(directory, clock).await
    }

    pub(crate) async fn create_zone(&self, zone: &str) {
        self.run(Command::CreateZone(CreateZone::new(name(zone)))).await.expect("a new zone");
    }

    pub(crate) async fn run(&self, command: Command) -> Result<Report, Refusal> {
        self.run_as(admin(), command).await
    }

    pub(crate) async fn run_as(&self, actor: Actor, command: Command) -> Result<Report, Refusal> {
        let request = Request { command, actor, dry_run: false, request_id: "test".to_owned() };
        self.handle.submit(request).await
    }

    pub(crate) async fn dry_run(&self, command: Command) -> Result<Report, Refusal> {
        let request = Request { command, actor: admin(), dry_run: true, request_id: String::new() };
        self.handle.submit(request).await
    }

    pub(crate) async fn apply(&self, owner: &str, records: &[&str]) -> Report {
        self.run(Command::Apply(apply(owner, records))).await.expect("an apply")
    }

    pub(crate) async fn put(&self, owner: &str, text: &str) -> Result<Report, Refusal> {
        self.run(Command::Change(Change::put(id(owner), record(text)))).await
    }

    pub(crate) async fn delete(&self, owner: &str, name_text: &str, rtype: &str) -> Result<Report, Refusal> {
        self.run(Command::Change(Change::delete(id(owner), vec![key(name_text, rtype)]))).await
    }

    pub(crate) async fn delete_owner(&self, owner: &str) -> Result<Report, Refusal> {
        let delete = DeleteOwner { cascade: true, ..DeleteOwner::new(id(owner)) };
        self.run(Command::DeleteOwner(delete)).await
    }

    /// What is served at a name, as texts `TYPE TTL VALUE`; an ALIAS as its target and families.
    pub(crate) fn served(&self, at: &str) -> Vec<String> {
        let published = self.handle.published();
        let snapshot = published.get();
        let at = name(at);
        let Some(zone) = snapshot.zone_of(&at) else { return Vec::new() };
        let Some(node) = zone.node(&at) else { return Vec::new() };
        node.rrsets()
            .flat_map(|rrset| {
                rrset.records().map(move |record| {
                    let value = match rrset.rtype {
                        Rtype::ALIAS => {
                            let length = tenured::wire::name::wire_length(record).expect("a target");
                            let target = presentation::rdata_to_text(Rtype::ALIAS, &record[..length]);
                            format!("{target} {}", record[length])
                        }
                        rtype => presentation::rdata_to_text(rtype, record),
                    };
                    format!("{} {} {value}", rrset.rtype, rrset.ttl)
                })
            })
            .collect()
    }

    /// The values served of a type.
    pub(crate) fn values(&self, at: &str, rtype: &str) -> Vec<String> {
        let prefix = format!("{rtype} ");
        self.served(at)
            .iter()
            .filter_map(|text| text.strip_prefix(&prefix))
            .map(|text| text.split_once(' ').map_or(text, |(_, value)| value).to_owned())
            .collect()
    }

    /// The owners that the published ALIAS at a name knows: its holder and those above it.
    pub(crate) async fn alias_owners(&self, at: &str) -> Vec<String> {
        let owners = self.reader.owners(&Default::default()).await.expect("owners").items;
        let snapshot = self.handle.published().get();
        let at = name(at);
        let zone = snapshot.zone_of(&at).cloned();
        let Some(node) = zone.as_ref().and_then(|zone| zone.node(&at)) else { return Vec::new() };
        let Some(rrset) = node.rrset(Rtype::ALIAS) else { return Vec::new() };
        let id_of = |number: u32| {
            let owner = owners.iter().find(|one| one.owner.number.0 == number).expect("an owner that is there");
            owner.owner.id.to_string()
        };
        AliasRef::decode(rrset.first()).expect("a record").owners().map(id_of).collect()
    }

    /// Whether a query for the name finds none.
    pub(crate) fn is_nxdomain(&self, at: &str) -> bool {
        let snapshot = self.handle.published().get();
        let at = name(at);
        let Some(zone) = snapshot.zone_of(&at).cloned() else { return false };
        let mut hashed = HashedName::empty();
        hashed.load(snapshot.key(), at.as_wire());
        matches!(zone.lookup(&hashed, false), Lookup::NoName)
    }

    pub(crate) fn serial(&self, zone: &str) -> u32 {
        let snapshot = self.handle.published().get();
        snapshot.zone(&name(zone)).and_then(|zone| zone.serial()).expect("a zone with an SOA")
    }

    pub(crate) fn revision(&self) -> u64 {
        self.handle.published().get().revision
    }

    /// Claims as texts `NAME TYPE OWNER STATE`.
    pub(crate) async fn claims(&self, filter: ClaimFilter) -> Vec<String> {
        let listing = self.reader.claims(&filter).await.expect("claims");
        let text = |row: &tenured::store::rows::ClaimRow| {
            let claim = &row.claim;
            format!("{} {} {} {}", claim.name, claim.rtype, claim.owner_id, claim.state.text())
        };
        listing.items.iter().map(text).collect()
    }

    pub(crate) async fn claims_of(&self, owner: &str) -> Vec<String> {
        self.claims(ClaimFilter { owner: Some(id(owner)), ..ClaimFilter::default() }).await
    }

    pub(crate) async fn claims_at(&self, at: &str) -> Vec<String> {
        self.claims(ClaimFilter { name: Some(name(at)), ..ClaimFilter::default() }).await
    }

    pub(crate) async fn history_length(&self) -> usize {
        self.reader.changes(&Default::default()).await.expect("the history").items.len()
    }
}

fn database(directory: &TempDir) -> PathBuf {
    directory.path().join("tenured.db")
}

pub(crate) fn admin() -> Actor {
    actor(Role::Admin)
}

pub(crate) fn token_of(owner: &str) -> Actor {
    actor(Role::Owner(id(owner)))
}

pub(crate) fn actor(role: Role) -> Actor {
    Actor { token: "test".to_owned(), role, limits: TokenLimits::default(), door: Door::Native }
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

pub(crate) fn id(text: &str) -> OwnerId {
    OwnerId::new(text).expect("an owner id")
}

/// Reads `NAME TYPE VALUE[ | VALUE…]`, with `TTL=n`, `share`, `set=id` before the type if wanted.
pub(crate) fn record_text(text: &str) -> RecordText {
    let (name, mut rest) = text.split_once(' ').expect("a name and more");
    let mut record = RecordText { name: name.to_owned(), ..RecordText::default() };
    loop {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Some(ttl) = word.strip_prefix("TTL=") {
            record.ttl = Some(ttl.parse().expect("a TTL"));
        } else if let Some(set_id) = word.strip_prefix("set=") {
            record.set_id = Some(set_id.to_owned());
        } else if word == "share" {
            record.share = true;
        } else {
            record.rtype = word.to_owned();
            record.values = behind.split(" | ").filter(|value| !value.is_empty()).map(str::to_owned).collect();
            return record;
        }
        rest = behind;
    }
}

pub(crate) fn record(text: &str) -> Wish {
    wish::read(&record_text(text)).expect("a record that reads")
}

pub(crate) fn key(name_text: &str, rtype: &str) -> RecordName {
    let (zone, name, rtype) = wish::read_key(None, name_text, rtype).expect("a key");
    RecordName { zone, name, rtype, set_id: None }
}

pub(crate) fn apply(owner: &str, records: &[&str]) -> Apply {
    Apply::new(id(owner), records.iter().map(|text| wish::read(&record_text(text))).collect())
}

/// Items as texts `NAME TYPE OUTCOME[ CODE][ by HOLDER]`.
pub(crate) fn items(report: &Report) -> Vec<String> {
    report.results.iter().map(item_text).collect()
}

pub(crate) fn item_text(item: &Item) -> String {
    let mut text = format!("{} {} {}", item.name, item.rtype, item.outcome.text());
    if let Some(problem) = &item.problem {
        text.push_str(&format!(" {}", problem.code));
        if let Some(holder) = &problem.holder {
            text.push_str(&format!(" by {}", holder.owner));
        }
    }
    if let Some(promoted) = &item.promoted {
        text.push_str(&format!(" promoted {promoted}"));
    }
    text
}

pub(crate) fn count(report: &Report, outcome: ItemOutcome) -> u64 {
    report.summary.count(outcome)
}
