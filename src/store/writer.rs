//! The writer: the one connection that changes the store, and the effects of plans as statements.

use std::collections::HashMap;
use std::path::Path;

use sqlx::sqlite::SqliteArguments;
use sqlx::{Connection, Sqlite, SqliteConnection};

use super::alias::TargetEvent;
use super::codec;
use super::error::StoreError;
use super::{attachments, columns, holds, leases, ledger, open, quarantine, sql, sweeps, targets};
use crate::ledger::actor::{Actor, Role};
use crate::ledger::alias_options::AliasOptions;
use crate::ledger::claim::Claim;
use crate::ledger::command::NewToken;
use crate::ledger::fresh::{Fresh, FreshClaim};
use crate::ledger::limits::MAX_LISTED;
use crate::ledger::owner::{Owner, OwnerId, OwnerNumber};
use crate::ledger::plan::{ClaimChange, History, Plan, TokenChange, ZoneChange};
use crate::ledger::scope::{Ledger, Scope};
use crate::ledger::zone::{ZoneNumber, ZoneRow};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Keys of one statement over a list of claims.
const KEYS: usize = 1_000;

/// The actor of events about ALIAS targets.
const TELLER: &str = "system:alias";

/// The counters of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counters {
    revision: u64,
    next_owner: u32,
    next_zone: u32,
}

/// A claim that was asked for again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assertion {
    /// The zone.
    pub zone: ZoneNumber,
    /// The name's sort key in it.
    pub key: Vec<u8>,
    /// The type.
    pub rtype: Rtype,
    /// The owner.
    pub owner: OwnerNumber,
    /// The set id, empty if there is none.
    pub set_id: String,
}

/// Who asked for a plan, for the history.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The actor.
    pub actor: &'a Actor,
    /// Id of the request, empty if there is none.
    pub request_id: &'a str,
    /// When.
    pub now: Moment,
}

/// The one connection that writes. What it wrote since [`Writer::begin`] counts from [`Writer::commit`] on.
#[derive(Debug)]
pub struct Writer {
    connection: SqliteConnection,
    /// Of the transaction that is open, or as committed.
    counters: Counters,
    committed: Counters,
    is_open: bool,
    identity: String,
    /// Where the file is that the connection has open.
    place: open::Place,
    /// Freed last: another process may open the store when the connection is closed.
    _lock: open::StoreLock,
}

impl Writer {
    /// Opens the store for writing, made and brought up to date if need be.
    pub async fn open(database: &Path) -> Result<Writer, StoreError> {
        let lock = open::lock(database)?;
        let mut connection = open::connect_writer(database).await?;
        targets::fill(&mut connection).await?;
        let (revision, next_owner, next_zone, identity): (i64, i64, i64, String) =
            sqlx::query_as(sql::READ_META).fetch_one(&mut connection).await?;
        let counters = Counters {
            revision: u64::try_from(revision).unwrap_or(0),
            next_owner: u32::try_from(next_owner).unwrap_or(u32::MAX),
            next_zone: u32::try_from(next_zone).unwrap_or(u32::MAX),
        };
        let place = open::Place::of(database)?;
        Ok(Writer { connection, counters, committed: counters, is_open: false, identity, place, _lock: lock })
    }

    /// The connection, for the reading at the start.
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// The revision last committed.
    pub fn revision(&self) -> u64 {
        self.committed.revision
    }

    /// What tells this store from others: random, made with it.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Begins a transaction; one left open by a failure is rolled back first.
    pub async fn begin(&mut self) -> Result<(), StoreError> {
        self.rollback().await;
        // A file that was deleted or replaced still takes writes, and nobody would find them again.
        self.place.check()?;
        sqlx::query(sql::BEGIN).execute(&mut self.connection).await?;
        self.is_open = true;
        Ok(())
    }

    /// Makes all since [`Writer::begin`] durable.
    pub async fn commit(&mut self) -> Result<(), StoreError> {
        let Counters { revision, next_owner, next_zone } = self.counters;
        if self.counters != self.committed {
            sqlx::query(sql::WRITE_META)
                .bind(signed(revision))
                .bind(i64::from(next_owner))
                .bind(i64::from(next_zone))
                .execute(&mut self.connection)
                .await?;
        }
        sqlx::query(sql::COMMIT).execute(&mut self.connection).await?;
        self.committed = self.counters;
        self.is_open = false;
        Ok(())
    }

    /// Takes all since [`Writer::begin`] back. If even that fails, the next `begin` tries again.
    pub async fn rollback(&mut self) {
        self.counters = self.committed;
        if self.is_open {
            // SQLite may have rolled back by itself, as on a full disk; then this one is an error that says so.
            self.is_open = false;
            if let Err(error) = sqlx::query(sql::ROLLBACK).execute(&mut self.connection).await {
                tracing::debug!(%error, "rolling back");
            }
        }
    }

    /// What a command can touch, as of this transaction.
    pub async fn ledger(&mut self, scope: &Scope) -> Result<Ledger, StoreError> {
        let Counters { revision, next_owner, next_zone } = self.counters;
        let ledger = Ledger { revision, next_owner, next_zone, ..Ledger::default() };
        ledger::read(&mut self.connection, scope, ledger).await
    }

    /// Writes a plan's effects. `served` are the zones whose served content changed, with their new serials.
    pub async fn write(
        &mut self,
        plan: &Plan,
        served: &[(ZoneNumber, u32)],
        origin: Origin<'_>,
    ) -> Result<(), StoreError> {
        let mut history = Rows { origin, revision: plan.ledger.revision, item: 0 };
        self.write_owners(plan, &mut history).await?;
        for tombstone in &plan.tombstones {
            sqlx::query(sql::WRITE_TOMBSTONE)
                .bind(tombstone.owner.as_str())
                .bind(tombstone.uid.as_deref().unwrap_or(""))
                .bind(tombstone.epoch.map(signed))
                .bind(signed(tombstone.at.0))
                .bind(signed(tombstone.revision))
                .execute(&mut self.connection)
                .await?;
        }
        for (owner, uid) in &plan.unburied {
            let query = sqlx::query(sql::UNBURY).bind(owner.as_str()).bind(uid.as_deref().unwrap_or(""));
            query.execute(&mut self.connection).await?;
        }
        for change in &plan.zones {
            self.write_zone(plan, change, &mut history).await?;
        }
        self.write_claims(plan, &mut history).await?;
        for change in plan.owners.iter().filter(|change| change.after.is_none()) {
            if let Some(owner) = &change.before {
                sqlx::query(sql::DELETE_OWNER).bind(i64::from(owner.number.0)).execute(&mut self.connection).await?;
            }
        }
        if let Some(change) = &plan.hold {
            holds::write(&mut self.connection, change).await?;
            let (before, after) = (change.before.as_ref().map(holds::json), change.after.as_ref().map(holds::json));
            if let Some(one) = change.after.as_ref().or(change.before.as_ref()) {
                history.write(&mut self.connection, Row::of("hold", one.owner_id.as_str(), before, after)).await?;
            }
        }
        if let Some(change) = &plan.sweep {
            sweeps::write(&mut self.connection, change, origin.now).await?;
            let (scope, before, after) = sweeps::history(change);
            history.write(&mut self.connection, Row::of("sweep", scope.as_str(), before, after)).await?;
        }
        for (zone, serial) in served {
            sqlx::query(sql::WRITE_SERIAL)
                .bind(i64::from(zone.0))
                .bind(i64::from(*serial))
                .bind(signed(plan.ledger.revision))
                .execute(&mut self.connection)
                .await?;
        }
        for (zone, floor) in &plan.floors {
            let query = sqlx::query(sql::WRITE_FLOOR).bind(i64::from(zone.0)).bind(i64::from(*floor));
            query.execute(&mut self.connection).await?;
        }
        match &plan.token {
            None => {}
            Some(TokenChange::Created(token)) => self.write_token(token, &mut history).await?,
            Some(TokenChange::Deleted(id)) => {
                sqlx::query(sql::DELETE_TOKEN).bind(id).execute(&mut self.connection).await?;
                history.write(&mut self.connection, Row::of("token", id, Some(String::new()), None)).await?;
            }
        }
        super::history::count(&mut self.connection, history.item).await?;
        self.counters = Counters {
            revision: plan.ledger.revision,
            next_owner: plan.ledger.next_owner,
            next_zone: plan.ledger.next_zone,
        };
        Ok(())
    }

    /// Writes events into the history in the open transaction, under a revision of their own; none if there are none.
    pub async fn tell(&mut self, events: &[TargetEvent]) -> Result<Option<u64>, StoreError> {
        if events.is_empty() {
            return Ok(None);
        }
        let actor = Actor { token: TELLER.to_owned(), ..Actor::server() };
        let revision = self.counters.revision + 1;
        let mut item = 0;
        for event in events {
            let origin = Origin { actor: &actor, request_id: "", now: event.at };
            let mut history = Rows { origin, revision, item };
            let row = Row {
                owner: &event.owner,
                zone: String::new(),
                name: event.target.clone(),
                rtype: event.kind.to_owned(),
                before: None,
                after: Some(event.what.clone()),
            };
            history.write(&mut self.connection, row).await?;
            item = history.item;
        }
        super::history::count(&mut self.connection, item).await?;
        self.counters.revision = revision;
        Ok(Some(revision))
    }

    /// Writes that claims were asked for again, in the open transaction: the keys of [`Assertion`].
    pub async fn assert(&mut self, claims: &[Assertion], now: Moment) -> Result<(), StoreError> {
        for chunk in claims.chunks(KEYS) {
            let list: Vec<serde_json::Value> = chunk
                .iter()
                .map(|one| {
                    let key = codec::hexadecimal(&one.key);
                    serde_json::json!([one.zone.0, key, one.rtype.0, one.owner.0, one.set_id])
                })
                .collect();
            let query = sqlx::query(sql::ASSERT_CLAIMS).bind(serde_json::Value::from(list).to_string());
            query.bind(signed(now.0)).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    async fn write_owners(&mut self, plan: &Plan, history: &mut Rows<'_>) -> Result<(), StoreError> {
        // Those that go along with their children are no longer in the ledger.
        let gone: HashMap<OwnerNumber, &Owner> = plan
            .owners
            .iter()
            .filter(|change| change.after.is_none())
            .filter_map(|change| change.before.as_ref().map(|owner| (owner.number, owner)))
            .collect();
        for change in &plan.owners {
            if let Some(owner) = &change.after {
                self.write_owner(owner).await?;
                if change.before.as_ref().and_then(|before| before.lease.as_ref()) != owner.lease.as_ref() {
                    leases::write(&mut self.connection, owner).await?;
                }
            }
            if change.is_bookkeeping() {
                continue;
            }
            let text = |owner: &Owner| {
                let parent = owner
                    .parent
                    .and_then(|number| plan.ledger.owners.get(&number).or_else(|| gone.get(&number).copied()));
                codec::owner_json(owner, parent.map(|parent| parent.id.as_str()))
            };
            let Some(one) = change.after.as_ref().or(change.before.as_ref()) else { continue };
            let (before, after) = (change.before.as_ref().map(text), change.after.as_ref().map(text));
            history.write(&mut self.connection, Row::of("owner", one.id.as_str(), before, after)).await?;
        }
        Ok(())
    }

    async fn write_owner(&mut self, owner: &Owner) -> Result<(), StoreError> {
        sqlx::query(sql::WRITE_OWNER)
            .bind(i64::from(owner.number.0))
            .bind(owner.id.as_str())
            .bind(owner.kind.as_deref())
            .bind(owner.uid.as_deref())
            .bind(owner.parent.map(|parent| i64::from(parent.0)))
            .bind(owner.source.as_ref().and_then(codec::json))
            .bind(codec::labels(&owner.labels))
            .bind(owner.state.text())
            .bind(owner.generation.map(signed))
            .bind(owner.epoch.map(signed))
            .bind(signed(owner.created.0))
            .bind(signed(owner.asserted.0))
            .bind(signed(owner.revision))
            .bind(owner.external_dns.as_ref().map(|door| door.txt_owner_id.clone().unwrap_or_default()))
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    async fn write_zone(&mut self, plan: &Plan, change: &ZoneChange, history: &mut Rows<'_>) -> Result<(), StoreError> {
        match change {
            ZoneChange::Created(zone) => {
                self.put_zone(zone).await?;
                if matches!(plan.history, History::PerClaim) {
                    history.write(&mut self.connection, Row::zone(zone, None, Some(codec::zone_json(zone)))).await?;
                }
            }
            ZoneChange::Updated(zone) => {
                self.put_zone(zone).await?;
                history.write(&mut self.connection, Row::zone(zone, None, Some(codec::zone_json(zone)))).await?;
            }
            ZoneChange::Deleted(zone) => {
                self.write_history_of_zone(plan, zone, history).await?;
                let before = codec::zone_json_with_count(zone, plan.ledger.going_count);
                history.write(&mut self.connection, Row::zone(zone, Some(before), None)).await?;
                let number = i64::from(zone.number.0);
                targets::delete_zone(&mut self.connection, zone.number).await?;
                sqlx::query(sql::END_QUARANTINE_OF_ZONE).bind(number).execute(&mut self.connection).await?;
                sqlx::query(sql::DELETE_CLAIMS_OF_ZONE).bind(number).execute(&mut self.connection).await?;
                sqlx::query(sql::DELETE_ZONE).bind(number).execute(&mut self.connection).await?;
            }
        }
        Ok(())
    }

    /// The claims that go with a zone: all of other owners, the first of its import, of which the zone's own row tells the
    /// number, and none of the server.
    async fn write_history_of_zone(
        &mut self,
        plan: &Plan,
        zone: &ZoneRow,
        history: &mut Rows<'_>,
    ) -> Result<(), StoreError> {
        let own = plan.ledger.owner(&OwnerId::of_zone(&zone.name)).map_or(0, |owner| owner.number.0);
        let system = plan.ledger.owner(&OwnerId::system()).map_or(0, |owner| owner.number.0);
        let apexes = columns::Apexes::from([(zone.number, zone.name.clone())]);
        let mut rows = sqlx::query(sql::CLAIMS_OF_OTHERS)
            .bind(i64::from(zone.number.0))
            .bind(i64::from(own))
            .bind(i64::from(system))
            .fetch_all(&mut self.connection)
            .await?;
        let imported = sqlx::query(sql::CLAIMS_GOING)
            .bind(i64::from(zone.number.0))
            .bind(Some(i64::from(own)))
            .bind(i64::try_from(MAX_LISTED).unwrap_or(i64::MAX));
        rows.extend(imported.fetch_all(&mut self.connection).await?);
        for claim in rows.iter().filter_map(|row| columns::claim(row, &apexes).ok()) {
            let Some(owner) = plan.ledger.owners.get(&claim.owner) else { continue };
            let row = Row {
                owner: owner.id.as_str(),
                zone: zone.name.to_string(),
                name: claim.name.to_string(),
                rtype: claim.rtype.to_string(),
                before: Some(codec::claim_json(&claim)),
                after: None,
            };
            history.write(&mut self.connection, row).await?;
        }
        Ok(())
    }

    async fn put_zone(&mut self, zone: &ZoneRow) -> Result<(), StoreError> {
        sqlx::query(sql::WRITE_ZONE)
            .bind(i64::from(zone.number.0))
            .bind(zone.name.to_string())
            .bind(i64::from(zone.owner_number.0))
            .bind(i64::from(zone.serial))
            .bind(i64::from(zone.default_ttl))
            .bind(codec::nameservers(zone))
            .bind(&zone.contact)
            .bind(zone.upstream_group.as_deref())
            .bind(signed(zone.created.0))
            .bind(signed(zone.revision))
            .bind(codec::json(&zone.presented))
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    async fn write_claims(&mut self, plan: &Plan, history: &mut Rows<'_>) -> Result<(), StoreError> {
        let gone = plan.claims.iter().filter(|change| change.after.is_none()).map(ClaimChange::either);
        for list in key_lists(plan, gone) {
            sqlx::query(sql::DELETE_CLAIMS).bind(&list).execute(&mut self.connection).await?;
            sqlx::query(sql::DELETE_ATTACHMENTS).bind(list).execute(&mut self.connection).await?;
        }
        let written = || plan.claims.iter().filter_map(|change| change.after.as_ref());
        self.write_plain(written().filter_map(|claim| PlainRow::of(plan, claim))).await?;
        let others: Vec<&Claim> = written().filter(|claim| !PlainRow::is(claim)).collect();
        let mut chunks = others.chunks_exact(sql::ROWS);
        for chunk in &mut chunks {
            let query = sqlx::query(sql::WRITE_CLAIMS.as_str());
            let query = chunk.iter().fold(query, |query, claim| bind_claim(query, plan, claim));
            query.execute(&mut self.connection).await?;
        }
        for claim in chunks.remainder() {
            bind_claim(sqlx::query(sql::WRITE_CLAIM), plan, claim).execute(&mut self.connection).await?;
        }
        if let Some(fresh) = &plan.fresh {
            let rows = fresh.claims().map(|claim| PlainRow::fresh(plan, fresh, claim));
            self.write_plain(rows).await?;
        }
        attachments::write(&mut self.connection, plan).await?;
        quarantine::write(&mut self.connection, plan, history.origin.now).await?;
        targets::write(&mut self.connection, plan).await?;
        for list in key_lists(plan, plan.asserted.iter()) {
            let query = sqlx::query(sql::ASSERT_CLAIMS).bind(list).bind(signed(history.origin.now.0));
            query.execute(&mut self.connection).await?;
        }
        self.write_history_of_claims(plan, history).await
    }

    async fn write_history_of_claims(&mut self, plan: &Plan, history: &mut Rows<'_>) -> Result<(), StoreError> {
        match &plan.history {
            History::PerClaim => {
                let rows = plan.claims.iter().filter_map(|change| Row::claim(plan, change));
                history.write_all(&mut self.connection, plan.claims.len(), rows).await
            }
            History::Import { zone, owner, written, deleted } if plan.report.changed => {
                let row = Row {
                    owner: owner.as_str(),
                    zone: zone.to_string(),
                    name: zone.to_string(),
                    rtype: "zonefile".to_owned(),
                    before: None,
                    after: Some(serde_json::json!({ "written": written, "deleted": deleted }).to_string()),
                };
                history.write(&mut self.connection, row).await
            }
            History::Import { .. } => Ok(()),
        }
    }

    /// Plain claims, many to a statement.
    async fn write_plain<'a>(&mut self, mut rows: impl Iterator<Item = PlainRow<'a>>) -> Result<(), StoreError> {
        let mut chunk: Vec<PlainRow<'_>> = Vec::new();
        loop {
            chunk.extend(rows.by_ref().take(sql::ROWS));
            if chunk.len() < sql::ROWS {
                break;
            }
            let query = sqlx::query(sql::WRITE_PLAINS.as_str());
            let query = chunk.drain(..).fold(query, |query, row| row.bind(query));
            query.execute(&mut self.connection).await?;
        }
        for row in chunk {
            row.bind(sqlx::query(sql::WRITE_PLAIN)).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    async fn write_token(&mut self, token: &NewToken, history: &mut Rows<'_>) -> Result<(), StoreError> {
        let (role, owner) = match &token.role {
            Role::Admin => ("admin", None),
            Role::Owner(owner) => ("owner", Some(owner.as_str())),
            Role::Read => ("read", None),
        };
        sqlx::query(sql::WRITE_TOKEN)
            .bind(&token.id)
            .bind(&token.name)
            .bind(role)
            .bind(owner)
            .bind(&token.hash[..])
            .bind(codec::limits(&token.limits))
            .bind(signed(history.origin.now.0))
            .bind(token.expires.map(|expires| signed(expires.0)))
            .bind(if token.key.is_some() { "powerdns" } else { "native" })
            .bind(token.key.as_deref().and_then(codec::key))
            .execute(&mut self.connection)
            .await?;
        let after = serde_json::json!({ "name": token.name, "role": role, "owner": owner }).to_string();
        history.write(&mut self.connection, Row::of("token", &token.id, None, Some(after))).await
    }

    /// Writes what stands there already: whether the store takes a write at all, on a disk that may be full.
    pub async fn try_out(&mut self) -> Result<(), StoreError> {
        // Pages that were read while the file was broken are read again.
        sqlx::query(sql::FORGET_PAGES).execute(&mut self.connection).await?;
        self.begin().await?;
        sqlx::query(sql::TOUCH_META).execute(&mut self.connection).await?;
        self.commit().await
    }

    /// Whether the file is where it was when it was opened.
    pub fn check_place(&self) -> Result<(), StoreError> {
        self.place.check()
    }

    /// Closes the connection, so that the log is checkpointed.
    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }
}

/// Numbers of 64 bits as SQLite has them. Those beyond its range do not occur: times not before the year 292,278,994, and
/// callers' numbers are refused from `limits::MAX_COUNTER` on.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn key_of(plan: &Plan, claim: &Claim) -> Option<Vec<u8>> {
    let apex: &Name = &plan.ledger.zones.get(&claim.zone)?.name;
    claim.name.sort_key(apex)
}

type Query<'a> = sqlx::query::Query<'a, Sqlite, SqliteArguments>;

fn bind_claim<'a>(query: Query<'a>, plan: &Plan, claim: &'a Claim) -> Query<'a> {
    query
        .bind(i64::from(claim.zone.0))
        .bind(key_of(plan, claim))
        .bind(i64::from(claim.rtype.0))
        .bind(i64::from(claim.owner.0))
        .bind(&claim.set_id)
        .bind(i64::from(claim.ttl))
        .bind(codec::pack(&claim.records))
        .bind(claim.alias.as_ref().and_then(codec::json))
        .bind(i64::from(claim.share))
        .bind(codec::labels(&claim.labels))
        .bind(claim.state.text())
        .bind(signed(claim.asserted.0))
        .bind(signed(claim.created.0))
        .bind(signed(claim.created_revision))
        .bind(signed(claim.revision))
}

/// A claim that is held and not shared, without set id and labels, as nearly all are: fewer values to hand over.
struct PlainRow<'a> {
    zone: ZoneNumber,
    key: Option<Vec<u8>>,
    rtype: Rtype,
    owner: OwnerNumber,
    ttl: u32,
    records: &'a [Vec<u8>],
    alias: Option<AliasOptions>,
    /// Asserted, created.
    times: [Moment; 2],
    /// That made it, that changed it.
    revisions: [u64; 2],
}

impl<'a> PlainRow<'a> {
    fn is(claim: &Claim) -> bool {
        claim.is_held() && claim.set_id.is_empty() && claim.labels.is_empty() && !claim.share
    }

    fn of(plan: &Plan, claim: &'a Claim) -> Option<PlainRow<'a>> {
        PlainRow::is(claim).then(|| PlainRow {
            zone: claim.zone,
            key: key_of(plan, claim),
            rtype: claim.rtype,
            owner: claim.owner,
            ttl: claim.ttl,
            records: &claim.records,
            alias: claim.alias,
            times: [claim.asserted, claim.created],
            revisions: [claim.created_revision, claim.revision],
        })
    }

    fn fresh(plan: &Plan, all: &Fresh, one: FreshClaim<'a>) -> PlainRow<'a> {
        PlainRow {
            zone: all.zone,
            key: plan.ledger.zones.get(&all.zone).and_then(|zone| one.name.sort_key(&zone.name)),
            rtype: one.rrset.rtype,
            owner: all.owner,
            ttl: one.rrset.ttl,
            records: &one.rrset.records,
            alias: one.alias(),
            times: [all.now; 2],
            revisions: [all.revision; 2],
        }
    }

    fn bind(self, query: Query<'_>) -> Query<'_> {
        let query = query
            .bind(i64::from(self.zone.0))
            .bind(self.key)
            .bind(i64::from(self.rtype.0))
            .bind(i64::from(self.owner.0))
            .bind(i64::from(self.ttl))
            .bind(codec::pack(self.records))
            .bind(self.alias.as_ref().and_then(codec::json));
        let query = self.times.into_iter().fold(query, |query, time| query.bind(signed(time.0)));
        self.revisions.into_iter().fold(query, |query, revision| query.bind(signed(revision)))
    }
}

/// Keys of claims as lists for one statement each.
fn key_lists<'a>(plan: &Plan, claims: impl Iterator<Item = &'a Claim>) -> Vec<String> {
    let keys: Vec<serde_json::Value> = claims
        .filter_map(|claim| {
            let key = codec::hexadecimal(&key_of(plan, claim)?);
            Some(serde_json::json!([claim.zone.0, key, claim.rtype.0, claim.owner.0, claim.set_id]))
        })
        .collect();
    keys.chunks(KEYS).map(|keys| serde_json::Value::from(keys).to_string()).collect()
}

/// A row of the history.
struct Row<'a> {
    owner: &'a str,
    zone: String,
    name: String,
    rtype: String,
    before: Option<String>,
    after: Option<String>,
}

impl<'a> Row<'a> {
    /// Of an owner or a token.
    fn of(what: &str, id: &'a str, before: Option<String>, after: Option<String>) -> Row<'a> {
        Row { owner: id, zone: String::new(), name: String::new(), rtype: what.to_owned(), before, after }
    }

    /// Of a claim.
    fn claim(plan: &Plan, change: &'a ClaimChange) -> Option<Row<'a>> {
        let one = change.either();
        let zone = plan.ledger.zones.get(&one.zone)?;
        Some(Row {
            owner: one.owner_id.as_str(),
            zone: zone.name.to_string(),
            name: one.name.to_string(),
            rtype: one.rtype.to_string(),
            before: change.before.as_ref().map(codec::claim_json),
            after: change.after.as_ref().map(codec::claim_json),
        })
    }

    fn zone(zone: &'a ZoneRow, before: Option<String>, after: Option<String>) -> Row<'a> {
        let name = zone.name.to_string();
        Row { owner: zone.owner.as_str(), zone: name.clone(), name, rtype: "zone".to_owned(), before, after }
    }
}

/// Numbers the rows of one command's history.
struct Rows<'a> {
    origin: Origin<'a>,
    revision: u64,
    item: i64,
}

impl Rows<'_> {
    async fn write(&mut self, connection: &mut SqliteConnection, row: Row<'_>) -> Result<(), StoreError> {
        self.item += 1;
        sqlx::query(sql::WRITE_CHANGE)
            .bind(signed(self.revision))
            .bind(self.item)
            .bind(signed(self.origin.now.0))
            .bind(&self.origin.actor.token)
            .bind(row.owner)
            .bind(self.origin.request_id)
            .bind(self.origin.actor.door.text())
            .bind(row.zone)
            .bind(row.name)
            .bind(row.rtype)
            .bind(row.before)
            .bind(row.after)
            .execute(connection)
            .await?;
        Ok(())
    }

    /// As [`Rows::write`], many to a statement; `count` is how many there are, or some more.
    async fn write_all<'a>(
        &mut self,
        connection: &mut SqliteConnection,
        count: usize,
        mut rows: impl Iterator<Item = Row<'a>>,
    ) -> Result<(), StoreError> {
        let mut chunk: Vec<Row<'a>> = Vec::with_capacity(count.min(sql::ROWS));
        loop {
            chunk.extend(rows.by_ref().take(sql::ROWS));
            if chunk.len() < sql::ROWS {
                break;
            }
            let mut query = sqlx::query(sql::WRITE_CHANGES.as_str())
                .bind(signed(self.revision))
                .bind(signed(self.origin.now.0))
                .bind(&self.origin.actor.token)
                .bind(self.origin.request_id)
                .bind(self.origin.actor.door.text());
            for row in chunk.drain(..) {
                self.item += 1;
                query = query
                    .bind(self.item)
                    .bind(row.owner)
                    .bind(row.zone)
                    .bind(row.name)
                    .bind(row.rtype)
                    .bind(row.before)
                    .bind(row.after);
            }
            query.execute(&mut *connection).await?;
        }
        for row in chunk {
            self.write(connection, row).await?;
        }
        Ok(())
    }
}
