//! The writer: the one connection that changes the store, and the effects of plans as statements.

use std::collections::HashMap;
use std::path::Path;

use sqlx::sqlite::SqliteArguments;
use sqlx::{Connection, Sqlite, SqliteConnection};

use super::alias::TargetEvent;
use super::codec;
use super::error::StoreError;
use super::{columns, holds, leases, ledger, open, quarantine, sql};
use crate::ledger::actor::{Actor, Role};
use crate::ledger::claim::Claim;
use crate::ledger::command::NewToken;
use crate::ledger::owner::{Owner, OwnerId, OwnerNumber};
use crate::ledger::plan::{ClaimChange, History, Plan, TokenChange, ZoneChange};
use crate::ledger::scope::{Ledger, Scope};
use crate::ledger::zone::{ZoneNumber, ZoneRow};
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
    /// Freed last: another process may open the store when the connection is closed.
    _lock: open::StoreLock,
}

impl Writer {
    /// Opens the store for writing, made and brought up to date if need be.
    pub async fn open(database: &Path) -> Result<Writer, StoreError> {
        let lock = open::lock(database)?;
        let mut connection = open::connect_writer(database).await?;
        let (revision, next_owner, next_zone, _): (i64, i64, i64, String) =
            sqlx::query_as(sql::READ_META).fetch_one(&mut connection).await?;
        let counters = Counters {
            revision: u64::try_from(revision).unwrap_or(0),
            next_owner: u32::try_from(next_owner).unwrap_or(u32::MAX),
            next_zone: u32::try_from(next_zone).unwrap_or(u32::MAX),
        };
        Ok(Writer { connection, counters, committed: counters, is_open: false, _lock: lock })
    }

    /// The connection, for the reading at the start.
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// The revision last committed.
    pub fn revision(&self) -> u64 {
        self.committed.revision
    }

    /// Begins a transaction; one left open by a failure is rolled back first.
    pub async fn begin(&mut self) -> Result<(), StoreError> {
        self.rollback().await;
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
        for (zone, serial) in served {
            sqlx::query(sql::WRITE_SERIAL)
                .bind(i64::from(zone.0))
                .bind(i64::from(*serial))
                .bind(signed(plan.ledger.revision))
                .execute(&mut self.connection)
                .await?;
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
                history.write(&mut self.connection, Row::zone(zone, Some(codec::zone_json(zone)), None)).await?;
                let number = i64::from(zone.number.0);
                sqlx::query(sql::END_QUARANTINE_OF_ZONE).bind(number).execute(&mut self.connection).await?;
                sqlx::query(sql::DELETE_CLAIMS_OF_ZONE).bind(number).execute(&mut self.connection).await?;
                sqlx::query(sql::DELETE_ZONE).bind(number).execute(&mut self.connection).await?;
            }
        }
        Ok(())
    }

    /// The claims that go with a zone; those of its import and of the server go as the zone's own row.
    async fn write_history_of_zone(
        &mut self,
        plan: &Plan,
        zone: &ZoneRow,
        history: &mut Rows<'_>,
    ) -> Result<(), StoreError> {
        let own = plan.ledger.owner(&OwnerId::of_zone(&zone.name)).map_or(0, |owner| owner.number.0);
        let system = plan.ledger.owner(&OwnerId::system()).map_or(0, |owner| owner.number.0);
        let apexes = columns::Apexes::from([(zone.number, zone.name.clone())]);
        let rows = sqlx::query(sql::CLAIMS_OF_OTHERS)
            .bind(i64::from(zone.number.0))
            .bind(i64::from(own))
            .bind(i64::from(system))
            .fetch_all(&mut self.connection)
            .await?;
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
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    async fn write_claims(&mut self, plan: &Plan, history: &mut Rows<'_>) -> Result<(), StoreError> {
        let gone = plan.claims.iter().filter(|change| change.after.is_none()).map(ClaimChange::either);
        for list in key_lists(plan, gone) {
            sqlx::query(sql::DELETE_CLAIMS).bind(list).execute(&mut self.connection).await?;
        }
        let written: Vec<&Claim> = plan.claims.iter().filter_map(|change| change.after.as_ref()).collect();
        let mut chunks = written.chunks_exact(sql::ROWS);
        for chunk in &mut chunks {
            let query = sqlx::query(sql::WRITE_CLAIMS.as_str());
            let query = chunk.iter().fold(query, |query, claim| bind_claim(query, plan, claim));
            query.execute(&mut self.connection).await?;
        }
        for claim in chunks.remainder() {
            bind_claim(sqlx::query(sql::WRITE_CLAIM), plan, claim).execute(&mut self.connection).await?;
        }
        self.write_fresh(plan).await?;
        quarantine::write(&mut self.connection, plan, history.origin.now).await?;
        for list in key_lists(plan, plan.asserted.iter()) {
            let query = sqlx::query(sql::ASSERT_CLAIMS).bind(list).bind(signed(history.origin.now.0));
            query.execute(&mut self.connection).await?;
        }
        self.write_history_of_claims(plan, history).await
    }

    async fn write_history_of_claims(&mut self, plan: &Plan, history: &mut Rows<'_>) -> Result<(), StoreError> {
        let rows: Vec<Row<'_>> = match &plan.history {
            History::PerClaim => plan.claims.iter().filter_map(|change| Row::claim(plan, change)).collect(),
            History::Import { zone, owner, written, deleted } if plan.report.changed => vec![Row {
                owner: owner.as_str(),
                zone: zone.to_string(),
                name: zone.to_string(),
                rtype: "zonefile".to_owned(),
                before: None,
                after: Some(serde_json::json!({ "written": written, "deleted": deleted }).to_string()),
            }],
            History::Import { .. } => Vec::new(),
        };
        history.write_all(&mut self.connection, rows).await
    }

    /// The claims of an import into a new zone: held, of one owner, written at one time, many to a statement.
    async fn write_fresh(&mut self, plan: &Plan) -> Result<(), StoreError> {
        let mut chunks = plan.fresh.chunks_exact(sql::ROWS);
        for chunk in &mut chunks {
            let Some(first) = chunk.first() else { continue };
            let mut query = sqlx::query(sql::WRITE_FRESH.as_str())
                .bind(i64::from(first.zone.0))
                .bind(i64::from(first.owner.0))
                .bind(signed(first.created.0))
                .bind(signed(first.revision));
            for claim in chunk {
                query = query
                    .bind(key_of(plan, claim))
                    .bind(i64::from(claim.rtype.0))
                    .bind(i64::from(claim.ttl))
                    .bind(codec::pack(&claim.records))
                    .bind(claim.alias.as_ref().and_then(codec::json));
            }
            query.execute(&mut self.connection).await?;
        }
        for claim in chunks.remainder() {
            bind_claim(sqlx::query(sql::WRITE_CLAIM), plan, claim).execute(&mut self.connection).await?;
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
            .execute(&mut self.connection)
            .await?;
        let after = serde_json::json!({ "name": token.name, "role": role, "owner": owner }).to_string();
        history.write(&mut self.connection, Row::of("token", &token.id, None, Some(after))).await
    }

    /// Closes the connection, so that the log is checkpointed.
    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }
}

/// Numbers of 64 bits as SQLite has them; those beyond its range do not occur before the year 292,278,994.
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

impl<'o> Rows<'o> {
    async fn write(&mut self, connection: &mut SqliteConnection, row: Row<'_>) -> Result<(), StoreError> {
        self.bind(sqlx::query(sql::WRITE_CHANGE), row).execute(connection).await?;
        Ok(())
    }

    async fn write_all(&mut self, connection: &mut SqliteConnection, rows: Vec<Row<'_>>) -> Result<(), StoreError> {
        let mut rows = rows.into_iter();
        while rows.len() >= sql::ROWS {
            let query = sqlx::query(sql::WRITE_CHANGES.as_str());
            let query = rows.by_ref().take(sql::ROWS).fold(query, |query, row| self.bind(query, row));
            query.execute(&mut *connection).await?;
        }
        for row in rows {
            self.write(connection, row).await?;
        }
        Ok(())
    }

    fn bind<'a>(&mut self, query: Query<'a>, row: Row<'a>) -> Query<'a>
    where
        'o: 'a,
    {
        self.item += 1;
        query
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
    }
}
