//! Reads of what is committed, for lists and look-ups; read-only connections that never wait for the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, SqlitePool, Transaction};

use super::columns::{self, Apexes};
use super::error::StoreError;
use super::ledger::{number_list, text_list};
use super::rows::{
    ChangeFilter, ChangeRow, ClaimCounts, ClaimFilter, ClaimRow, Listing, OwnerFilter, OwnerSummary, TokenRow,
    ZoneSummary,
};
use super::{open, sql, token};
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::command::{EndLease, Purge};
use crate::ledger::hold::Hold;
use crate::ledger::limits::MAX_DEPTH;
use crate::ledger::owner::{Owner, OwnerId, OwnerNumber, OwnerState};
use crate::ledger::zone::ZoneRow;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Most changes of one reading.
pub const MAX_CHANGES: u32 = 5_000;

/// A pool of read-only connections. Clones share it.
#[derive(Clone, Debug)]
pub struct Reader {
    pool: SqlitePool,
    suspect: Arc<AtomicBool>,
}

impl Reader {
    /// Over a store that the Writer has made or brought up to date. Connects when it is first used.
    pub fn open(database: &Path) -> Reader {
        let suspect = Arc::new(AtomicBool::new(false));
        Reader { pool: open::reader_pool(database, suspect.clone()), suspect }
    }

    /// Says whether the file was found broken: then every reading begins anew, until it is found whole.
    pub fn suspect(&self, broken: bool) {
        self.suspect.store(broken, Ordering::Relaxed);
    }

    /// One view of the store, and its revision.
    pub(super) async fn view(&self) -> Result<(Transaction<'static, Sqlite>, u64), StoreError> {
        let mut view = self.pool.begin().await?;
        // The first read fixes what all later ones of the transaction see.
        let row = sqlx::query(sql::READ_META).fetch_one(&mut *view).await?;
        let revision: i64 = row.try_get(0)?;
        Ok((view, u64::try_from(revision).unwrap_or(0)))
    }

    /// All zones by name, in canonical order.
    pub async fn zones(&self) -> Result<Listing<ZoneSummary>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let rows = sqlx::query(sql::ALL_ZONES).fetch_all(&mut *view).await?;
        let mut items: Vec<ZoneSummary> =
            rows.iter().filter_map(|row| columns::zone(row).ok()).map(|zone| ZoneSummary { zone }).collect();
        items.sort_by(|left, right| left.zone.name.cmp(&right.zone.name));
        Ok(Listing { revision, items })
    }

    /// A zone by its apex.
    pub async fn zone(&self, name: &Name) -> Result<Option<ZoneSummary>, StoreError> {
        let (mut view, _) = self.view().await?;
        Ok(zone_by_name(&mut view, name).await?.map(|zone| ZoneSummary { zone }))
    }

    /// Owners by name. Filtered here, and counted by two statements for all of them.
    pub async fn owners(&self, filter: &OwnerFilter) -> Result<Listing<OwnerSummary>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let rows = sqlx::query(sql::ALL_OWNERS).fetch_all(&mut *view).await?;
        let owners: Vec<Owner> = rows.iter().filter_map(|row| columns::owner(row).ok()).collect();
        let around = Around::of(
            owners.clone(),
            &sqlx::query(sql::CHILDREN).fetch_all(&mut *view).await?,
            &sqlx::query(sql::OWNER_COUNTS).fetch_all(&mut *view).await?,
        );
        let is_meant = |owner: &Owner| {
            let parent = owner.parent.and_then(|parent| around.owners.get(&parent)).map(|parent| &parent.id);
            let cluster = owner.source.as_ref().and_then(|source| source.cluster.as_ref());
            filter.parent.as_ref().is_none_or(|wanted| parent == Some(wanted))
                && filter.state.is_none_or(|wanted| owner.state == wanted)
                && filter.cluster.as_ref().is_none_or(|wanted| cluster == Some(wanted))
        };
        let items = owners.into_iter().filter(is_meant).map(|owner| around.summary(owner)).collect();
        Ok(Listing { revision, items })
    }

    /// How many owners are in each state; a state that none is in is there with 0.
    pub async fn owner_states(&self) -> Result<Vec<(OwnerState, u64)>, StoreError> {
        let rows = sqlx::query(sql::OWNER_STATES).fetch_all(&self.pool).await?;
        let count = |state: OwnerState| {
            let row = rows.iter().find(|row| columns::text(row, 0).is_ok_and(|text| text == state.text()));
            row.and_then(|row| columns::number(row, 1, "").ok()).unwrap_or(0)
        };
        Ok(OwnerState::ALL.into_iter().map(|state| (state, count(state))).collect())
    }

    /// An owner by its id.
    pub async fn owner(&self, owner: &OwnerId) -> Result<Option<OwnerSummary>, StoreError> {
        let (mut view, _) = self.view().await?;
        let list = text_list(std::iter::once(owner.to_string()));
        let rows = sqlx::query(sql::OWNERS_BY_NAME).bind(list).fetch_all(&mut *view).await?;
        let owners: Vec<Owner> = rows.iter().filter_map(|row| columns::owner(row).ok()).collect();
        let Some(found) = owners.iter().find(|one| one.id == *owner).cloned() else { return Ok(None) };
        let number = i64::from(found.number.0);
        let around = Around::of(
            owners,
            &sqlx::query(sql::CHILDREN_OF).bind(number).fetch_all(&mut *view).await?,
            &sqlx::query(sql::OWNER_COUNTS_OF).bind(number).fetch_all(&mut *view).await?,
        );
        Ok(Some(around.summary(found)))
    }

    /// Claims in canonical order of name within each zone, zones in the order they were made.
    pub async fn claims(&self, filter: &ClaimFilter) -> Result<Listing<ClaimRow>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let nothing = || Ok(Listing { revision, items: Vec::new() });
        let mut zone = None;
        if let Some(apex) = &filter.zone {
            match zone_by_name(&mut view, apex).await? {
                Some(found) => zone = Some(found),
                None => return nothing(),
            }
        }
        let mut owner = None;
        if let Some(id) = &filter.owner {
            match owner_by_name(&mut view, id).await? {
                Some(found) => owner = Some(found),
                None => return nothing(),
            }
        }
        let rows = claim_rows(&mut view, filter, zone.as_ref(), owner).await?;
        let distinct =
            |at: usize| -> BTreeSet<u32> { rows.iter().filter_map(|row| columns::number(row, at, "").ok()).collect() };
        let zones = sqlx::query(sql::ZONES_BY_ID).bind(number_list(distinct(0))).fetch_all(&mut *view).await?;
        let zones = zones.iter().filter_map(|row| columns::zone(row).ok());
        let apexes: Apexes = zones.map(|zone| (zone.number, zone.name)).collect();
        let owners = sqlx::query(sql::OWNERS_BY_ID).bind(number_list(distinct(3))).fetch_all(&mut *view).await?;
        let owners = owners.iter().filter_map(|row| columns::owner(row).ok());
        let owners: BTreeMap<OwnerNumber, OwnerId> = owners.map(|owner| (owner.number, owner.id)).collect();
        let items = rows
            .iter()
            .filter_map(|row| columns::claim(row, &apexes).ok())
            .filter(|claim| is_meant(claim, filter, zone.as_ref(), owner))
            .filter_map(|claim| {
                let owner_id = owners.get(&claim.owner)?.clone();
                Some(ClaimRow { zone: apexes.get(&claim.zone)?.clone(), claim: Claim { owner_id, ..claim } })
            })
            .collect();
        Ok(Listing { revision, items })
    }

    /// History, oldest first; of more than asked for the newest.
    pub async fn changes(&self, filter: &ChangeFilter) -> Result<Listing<ChangeRow>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let text = if filter.name.is_some() { sql::CHANGES_OF_NAME } else { sql::CHANGES };
        let rows = sqlx::query(text)
            .bind(i64::try_from(filter.since.unwrap_or(0)).unwrap_or(i64::MAX))
            .bind(filter.zone.as_ref().map(Name::to_string))
            .bind(filter.name.as_ref().map(Name::to_string))
            .bind(filter.owner.as_ref().map(OwnerId::to_string))
            .bind(filter.actor.as_deref())
            .bind(i64::from(filter.limit.unwrap_or(MAX_CHANGES).min(MAX_CHANGES)))
            .fetch_all(&mut *view)
            .await?;
        let items = rows.iter().rev().filter_map(|row| change(row).ok()).collect();
        Ok(Listing { revision, items })
    }

    /// When something last changed at a name, of any zone; none if the history does not know.
    pub async fn last_change_at(&self, name: &Name) -> Result<Option<Moment>, StoreError> {
        let query = sqlx::query_scalar::<_, Option<i64>>(sql::LAST_CHANGE_AT).bind(name.to_string());
        let at = query.fetch_one(&self.pool).await?;
        Ok(at.and_then(|at| u64::try_from(at).ok()).map(Moment))
    }

    /// Deletes on hold, oldest first; of one owner or of all.
    pub async fn holds(&self, owner: Option<&OwnerId>) -> Result<Listing<Hold>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let query = sqlx::query(sql::HOLDS).bind(owner.map(OwnerId::to_string));
        let rows = query.fetch_all(&mut *view).await?;
        Ok(Listing { revision, items: rows.iter().filter_map(|row| super::holds::hold(row).ok()).collect() })
    }

    /// What is to be purged at `now`.
    pub async fn quarantine_due(&self, now: Moment) -> Result<Vec<Purge>, StoreError> {
        let (mut view, _) = self.view().await?;
        super::quarantine::due(&mut view, now).await
    }

    /// Leases that are to be taken a step on at `now`.
    pub async fn leases_due(&self, now: Moment) -> Result<Vec<EndLease>, StoreError> {
        let (mut view, _) = self.view().await?;
        super::leases::due(&mut view, now).await
    }

    /// A token by its id; one that does not parse is none.
    pub async fn token(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        let row = sqlx::query(sql::TOKEN).bind(id).fetch_optional(&self.pool).await?;
        Ok(row.and_then(|row| columns::token(&row).ok()))
    }

    /// The token that a text is: one that this server made, by its id, or one whose secret the operator gave. The secret is
    /// compared in constant time, or by its hash alone.
    pub async fn token_by_text(&self, text: &str) -> Result<Option<TokenRow>, StoreError> {
        if let Some((id, secret)) = token::split(text)
            && let Some(row) = self.token(id).await?
        {
            return Ok(Some(row).filter(|row| token::matches(secret, &row.hash)));
        }
        let row = sqlx::query(sql::TOKEN_BY_HASH).bind(&token::hash(text)[..]).fetch_optional(&self.pool).await?;
        Ok(row.and_then(|row| columns::token(&row).ok()))
    }

    /// All tokens, oldest first.
    pub async fn tokens(&self) -> Result<Listing<TokenRow>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let rows = sqlx::query(sql::TOKENS).fetch_all(&mut *view).await?;
        Ok(Listing { revision, items: rows.iter().filter_map(|row| columns::token(row).ok()).collect() })
    }

    /// The revision last committed.
    pub async fn revision(&self) -> Result<u64, StoreError> {
        Ok(self.view().await?.1)
    }

    /// Closes all connections; later reads fail.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

pub(super) async fn zone_by_name(
    view: &mut Transaction<'static, Sqlite>,
    name: &Name,
) -> Result<Option<ZoneRow>, StoreError> {
    let list = text_list(std::iter::once(name.to_string()));
    let row = sqlx::query(sql::ZONES_BY_NAME).bind(list).fetch_optional(&mut **view).await?;
    Ok(row.and_then(|row| columns::zone(&row).ok()))
}

pub(super) async fn owner_by_name(
    view: &mut Transaction<'static, Sqlite>,
    id: &OwnerId,
) -> Result<Option<OwnerNumber>, StoreError> {
    let list = text_list(std::iter::once(id.to_string()));
    let rows = sqlx::query(sql::OWNERS_BY_NAME).bind(list).fetch_all(&mut **view).await?;
    let mut owners = rows.iter().filter_map(|row| columns::owner(row).ok());
    Ok(owners.find(|owner| owner.id == *id).map(|owner| owner.number))
}

/// The rows by the narrowest index that the filter has; [`is_meant`] does the rest.
async fn claim_rows(
    view: &mut Transaction<'static, Sqlite>,
    filter: &ClaimFilter,
    zone: Option<&ZoneRow>,
    owner: Option<OwnerNumber>,
) -> Result<Vec<SqliteRow>, StoreError> {
    if let Some(name) = &filter.name {
        return claim_rows_at(view, name).await;
    }
    let query = match (owner, zone) {
        (Some(owner), _) => sqlx::query(sql::CLAIMS_OF_OWNER).bind(i64::from(owner.0)),
        (None, Some(zone)) => sqlx::query(sql::CLAIMS_OF_ZONE).bind(i64::from(zone.number.0)),
        (None, None) => sqlx::query(sql::CLAIMS_LISTED),
    };
    let rtype = filter.rtype.map(|rtype| i64::from(rtype.0));
    let query = query.bind(rtype).bind(filter.state.map(ClaimState::text));
    Ok(query.fetch_all(&mut **view).await?)
}

/// The rows at a name, in every zone that it may be in.
async fn claim_rows_at(view: &mut Transaction<'static, Sqlite>, name: &Name) -> Result<Vec<SqliteRow>, StoreError> {
    let apexes = text_list(name.ancestors().map(|apex| apex.to_string()));
    let zones = sqlx::query(sql::ZONES_BY_NAME).bind(apexes).fetch_all(&mut **view).await?;
    let mut rows = Vec::new();
    for zone in zones.iter().filter_map(|row| columns::zone(row).ok()) {
        let Some(key) = name.sort_key(&zone.name) else { continue };
        let list = text_list(std::iter::once(super::codec::hexadecimal(&key)));
        let number = i64::from(zone.number.0);
        rows.extend(sqlx::query(sql::CLAIMS_AT).bind(number).bind(list).fetch_all(&mut **view).await?);
    }
    Ok(rows)
}

fn is_meant(claim: &Claim, filter: &ClaimFilter, zone: Option<&ZoneRow>, owner: Option<OwnerNumber>) -> bool {
    zone.is_none_or(|zone| zone.number == claim.zone)
        && owner.is_none_or(|owner| owner == claim.owner)
        && filter.name.as_ref().is_none_or(|name| *name == claim.name)
        && filter.rtype.is_none_or(|rtype| rtype == claim.rtype)
        && filter.state.is_none_or(|state| state == claim.state)
}

/// Counts by the number in the first column.
fn counts(rows: &[SqliteRow]) -> BTreeMap<u32, u64> {
    let count = |row: &SqliteRow| Some((columns::number(row, 0, "").ok()?, columns::number(row, 1, "").ok()?));
    rows.iter().filter_map(count).collect()
}

/// What stands around owners: those above, and the counts of children and claims.
pub(super) struct Around {
    owners: BTreeMap<OwnerNumber, Owner>,
    children: BTreeMap<u32, u64>,
    claims: BTreeMap<u32, ClaimCounts>,
}

impl Around {
    pub(super) fn of(owners: Vec<Owner>, children: &[SqliteRow], claims: &[SqliteRow]) -> Around {
        let mut counts_by_owner: BTreeMap<u32, ClaimCounts> = BTreeMap::new();
        for row in claims {
            let state = columns::text(row, 1).ok().and_then(|text| ClaimState::from_text(&text));
            let (Ok(owner), Some(state), Ok(count)) = (columns::number(row, 0, ""), state, columns::number(row, 2, ""))
            else {
                continue;
            };
            let counts = counts_by_owner.entry(owner).or_default();
            match state {
                ClaimState::Held => counts.held = count,
                ClaimState::Queued => counts.queued = count,
                ClaimState::Quarantined => counts.quarantined = count,
            }
        }
        let owners = owners.into_iter().map(|owner| (owner.number, owner)).collect();
        Around { owners, children: counts(children), claims: counts_by_owner }
    }

    pub(super) fn summary(&self, owner: Owner) -> OwnerSummary {
        let above = std::iter::successors(owner.parent, |number| self.owners.get(number).and_then(|one| one.parent));
        let parents =
            above.take(MAX_DEPTH).filter_map(|number| self.owners.get(&number)).map(|one| one.id.clone()).collect();
        let children = self.children.get(&owner.number.0).copied().unwrap_or(0);
        let claims = self.claims.get(&owner.number.0).copied().unwrap_or_default();
        OwnerSummary { owner, parents, children, claims }
    }
}

pub(super) fn change(row: &SqliteRow) -> Result<ChangeRow, columns::Broken> {
    Ok(ChangeRow {
        revision: columns::number(row, 0, "the revision")?,
        at: columns::moment(row, 1)?,
        actor: columns::text(row, 2)?,
        owner: columns::text(row, 3)?,
        request_id: columns::text(row, 4)?,
        door: columns::text(row, 5)?,
        zone: columns::text(row, 6)?,
        name: columns::text(row, 7)?,
        rtype: columns::text(row, 8)?,
        before: columns::optional_text(row, 9)?,
        after: columns::optional_text(row, 10)?,
        item: columns::number(row, 11, "the number of the row")?,
    })
}
