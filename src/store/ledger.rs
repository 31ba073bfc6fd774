//! Reads the ledger of a command: all that it can touch, in its own transaction.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::codec::hexadecimal;
use super::columns::{self, Apexes};
use super::error::StoreError;
use super::{page, sql};
use crate::ledger::attachment::AttachmentKey;
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::limits::{MAX_BELOW, MAX_LISTED};
use crate::ledger::owner::{OwnerId, OwnerNumber, Tombstone};
use crate::ledger::scope::{Below, Ledger, NameKey, Scope, is_redirection};
use crate::ledger::zone::ZoneNumber;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata;
use crate::zone::alias::Moment;

/// Names of one statement whose claims come in one column.
const NAMES: i64 = 500;

/// Reads what `scope` names into `ledger`, which has the counters already.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    scope: &Scope,
    ledger: Ledger,
) -> Result<Ledger, StoreError> {
    let mut reading = Reading { connection, ledger, apexes: Apexes::new() };
    reading.zones_by_name(&scope.zones).await?;
    reading.owners_by_name(&scope.owners).await?;
    reading.tombstones(&scope.owners).await?;
    reading.around(scope.around.as_ref()).await?;
    reading.subtrees(scope).await?;
    if let Some(apex) = &scope.claimants_of {
        reading.claimants(apex).await?;
    }
    if let Some(id) = scope.sweep {
        reading.sweep(id).await?;
    }
    reading.names(scope).await?;
    reading.attachments(scope).await?;
    reading.redirections().await?;
    reading.below(scope).await?;
    reading.fill_owners().await?;
    if let Some(id) = &scope.token {
        let found = sqlx::query(sql::TOKEN).bind(id).fetch_optional(&mut *reading.connection).await?;
        reading.ledger.token_exists = found.is_some();
    }
    Ok(reading.ledger)
}

struct Reading<'a> {
    connection: &'a mut SqliteConnection,
    ledger: Ledger,
    apexes: Apexes,
}

impl Reading<'_> {
    async fn rows(&mut self, text: &'static str, list: String) -> Result<Vec<SqliteRow>, StoreError> {
        Ok(sqlx::query(text).bind(list).fetch_all(&mut *self.connection).await?)
    }

    async fn zones_by_name(&mut self, names: &BTreeSet<Name>) -> Result<(), StoreError> {
        if names.is_empty() {
            return Ok(());
        }
        let rows = self.rows(sql::ZONES_BY_NAME, text_list(names.iter().map(Name::to_string))).await?;
        self.take_zones(&rows);
        Ok(())
    }

    /// Rows that do not parse are as if they were not there; loading has said so.
    fn take_zones(&mut self, rows: &[SqliteRow]) {
        for zone in rows.iter().filter_map(|row| columns::zone(row).ok()) {
            self.apexes.insert(zone.number, zone.name.clone());
            self.ledger.add_zone(zone);
        }
    }

    async fn zones_by_id(&mut self, numbers: &[u32]) -> Result<(), StoreError> {
        let missing: Vec<u32> =
            numbers.iter().copied().filter(|number| !self.apexes.contains_key(&ZoneNumber(*number))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let rows = self.rows(sql::ZONES_BY_ID, number_list(missing)).await?;
        self.take_zones(&rows);
        Ok(())
    }

    fn take_owners(&mut self, rows: &[SqliteRow]) {
        for owner in rows.iter().filter_map(|row| columns::owner(row).ok()) {
            self.ledger.add_owner(owner);
        }
    }

    async fn owners_by_name(&mut self, ids: &BTreeSet<OwnerId>) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let rows = self.rows(sql::OWNERS_BY_NAME, text_list(ids.iter().map(OwnerId::to_string))).await?;
        self.take_owners(&rows);
        Ok(())
    }

    async fn owners_by_id(&mut self, numbers: BTreeSet<u32>) -> Result<(), StoreError> {
        let missing: Vec<u32> =
            numbers.into_iter().filter(|number| !self.ledger.owners.contains_key(&OwnerNumber(*number))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let rows = self.rows(sql::OWNERS_BY_ID, number_list(missing)).await?;
        self.take_owners(&rows);
        Ok(())
    }

    async fn tombstones(&mut self, ids: &BTreeSet<OwnerId>) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let rows = self.rows(sql::TOMBSTONES, text_list(ids.iter().map(OwnerId::to_string))).await?;
        self.ledger.tombstones.extend(rows.iter().filter_map(tombstone));
        Ok(())
    }

    async fn around(&mut self, apex: Option<&Name>) -> Result<(), StoreError> {
        let Some(apex) = apex else { return Ok(()) };
        let above = text_list(apex.ancestors().skip(1).map(|name| name.to_string()));
        let mut rows = self.rows(sql::ZONES_BY_NAME, above).await?;
        let suffix = if apex.is_root() { ".".to_owned() } else { format!(".{apex}") };
        rows.extend(self.rows(sql::ZONES_BELOW, suffix).await?);
        self.ledger.around = rows
            .iter()
            .filter_map(|row| columns::zone(row).ok())
            .filter(|zone| zone.name != *apex && (zone.name.is_at_or_below(apex) || apex.is_at_or_below(&zone.name)))
            .collect();
        Ok(())
    }

    /// Descendants of the owner that is deleted or moved, and the claims of all whose claims may go.
    async fn subtrees(&mut self, scope: &Scope) -> Result<(), StoreError> {
        let number_of = |ledger: &Ledger, id: &Option<OwnerId>| {
            id.as_ref().and_then(|id| ledger.owner(id)).map(|owner| owner.number.0)
        };
        let mut claimants = BTreeSet::new();
        if let Some(top) = number_of(&self.ledger, &scope.subtree_of) {
            let below = self.subtree(top).await?;
            let rows = self.rows(sql::ZONES_OWNED, number_list(below.clone())).await?;
            let zones: Vec<u32> = rows.iter().filter_map(|row| columns::number(row, 0, "").ok()).collect();
            self.zones_by_id(&zones).await?;
            self.ledger.owned_zones = zones.into_iter().map(ZoneNumber).collect();
            // Those zones go on under their own owner, which may exist.
            let ids = self.ledger.zones.values().map(|zone| OwnerId::of_zone(&zone.name)).collect();
            self.owners_by_name(&ids).await?;
            claimants.extend(below);
        }
        for id in &scope.trees {
            if let Some(top) = self.ledger.owner(id).map(|owner| owner.number.0) {
                self.subtree(top).await?;
            }
        }
        let applying = number_of(&self.ledger, &scope.claims_of);
        claimants.extend(applying);
        let extent = number_of(&self.ledger, &scope.extent_of);
        if let Some(owner) = extent {
            let count: i64 =
                sqlx::query_scalar(sql::COUNT_OWNED).bind(i64::from(owner)).fetch_one(&mut *self.connection).await?;
            self.ledger.owned = u64::try_from(count).unwrap_or(0);
            self.hold(None, extent).await?;
        } else {
            claimants.extend(self.hold(scope.hold, applying).await?);
        }
        self.claims_of(claimants).await?;
        if let Some(moved) = number_of(&self.ledger, &scope.moved) {
            let below = self.subtree(moved).await?;
            self.claims_with(sql::ALIASES_WITH, below.into_iter().collect()).await?;
        }
        Ok(())
    }

    /// The hold of this number, or the one of an owner; gives back whose it is.
    async fn hold(&mut self, id: Option<u64>, owner: Option<u32>) -> Result<Option<u32>, StoreError> {
        let query = match (id, owner) {
            (Some(id), _) => sqlx::query(sql::HOLD).bind(i64::try_from(id).unwrap_or(i64::MAX)),
            (None, Some(owner)) => sqlx::query(sql::HOLD_OF).bind(i64::from(owner)),
            (None, None) => return Ok(None),
        };
        let row = query.fetch_optional(&mut *self.connection).await?;
        self.ledger.hold = row.and_then(|row| super::holds::hold(&row).ok());
        let Some(owner) = self.ledger.hold.as_ref().map(|hold| hold.owner.0) else { return Ok(None) };
        self.owners_by_id(BTreeSet::from([owner])).await?;
        Ok(Some(owner))
    }

    /// The owner and all below it.
    async fn subtree(&mut self, top: u32) -> Result<Vec<u32>, StoreError> {
        let rows = sqlx::query(sql::SUBTREE).bind(i64::from(top)).fetch_all(&mut *self.connection).await?;
        let numbers: Vec<u32> = rows.iter().filter_map(|row| columns::number(row, 0, "").ok()).collect();
        self.owners_by_id(numbers.iter().copied().collect()).await?;
        Ok(numbers)
    }

    /// All claims at the names where one of these owners has one, some hundred names at a time.
    async fn claims_of(&mut self, owners: BTreeSet<u32>) -> Result<(), StoreError> {
        let zones: Vec<u32> = match owners.is_empty() {
            true => return Ok(()),
            false => {
                let rows = self.rows(sql::ZONES_OF_CLAIMS, number_list(owners.iter().copied())).await?;
                rows.iter().filter_map(|row| columns::number(row, 0, "").ok()).collect()
            }
        };
        self.zones_by_id(&zones).await?;
        for owner in owners {
            let mut from = (i64::MIN, Vec::new());
            loop {
                let query = sqlx::query(sql::CLAIMS_WITH_PACKED).bind(i64::from(owner)).bind(from.0).bind(from.1);
                let row = query.bind(NAMES).fetch_one(&mut *self.connection).await?;
                let Ok(page) = packed(&row, &self.apexes) else {
                    // Row by row: what was read before is there already.
                    self.claims_with(sql::CLAIMS_WITH, BTreeSet::from([owner])).await?;
                    break;
                };
                self.take_names(page.claims);
                match page.last {
                    Some(last) => from = last,
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Puts in all claims of names that were not read before; those of one name come together.
    fn take_names(&mut self, claims: Vec<Claim>) {
        let mut fresh: Option<NameKey> = None;
        for claim in claims {
            let key = NameKey { zone: claim.zone, name: claim.name.clone() };
            if fresh.as_ref() == Some(&key) {
                self.ledger.claims.entry(key).or_default().push(claim);
            } else if let Entry::Vacant(unread) = self.ledger.claims.entry(key.clone()) {
                // Most names have one claim, and a Vec that grows by itself begins with room for four.
                unread.insert(Vec::with_capacity(1)).push(claim);
                fresh = Some(key);
            }
        }
    }

    /// All claims at the names where one of these owners has one.
    async fn claims_with(&mut self, text: &'static str, owners: BTreeSet<u32>) -> Result<(), StoreError> {
        if owners.is_empty() {
            return Ok(());
        }
        let list = number_list(owners);
        let rows = self.rows(sql::ZONES_OF_CLAIMS, list.clone()).await?;
        let zones: Vec<u32> = rows.iter().filter_map(|row| columns::number(row, 0, "").ok()).collect();
        self.zones_by_id(&zones).await?;
        let rows = self.rows(text, list).await?;
        let mut fresh = HashSet::new();
        for claim in rows.iter().filter_map(|row| columns::claim(row, &self.apexes).ok()) {
            let key = NameKey { zone: claim.zone, name: claim.name.clone() };
            if !self.ledger.claims.contains_key(&key) {
                fresh.insert(key.clone());
            }
            if fresh.contains(&key) {
                // Most names have one claim.
                self.ledger.claims.entry(key).or_insert_with(|| Vec::with_capacity(1)).push(claim);
            }
        }
        Ok(())
    }

    async fn claimants(&mut self, apex: &Name) -> Result<(), StoreError> {
        let Some(zone) = self.ledger.zone(apex).map(|zone| zone.number) else { return Ok(()) };
        let rows = sqlx::query(sql::CLAIMANTS).bind(i64::from(zone.0)).fetch_all(&mut *self.connection).await?;
        let numbers: BTreeSet<u32> = rows.iter().filter_map(|row| columns::number(row, 0, "").ok()).collect();
        self.ledger.claimants = numbers.iter().copied().map(OwnerNumber).collect();
        let count: i64 =
            sqlx::query_scalar(sql::COUNT_GOING).bind(i64::from(zone.0)).fetch_one(&mut *self.connection).await?;
        self.ledger.going_count = u64::try_from(count).unwrap_or(0);
        let rows = sqlx::query(sql::CLAIMS_GOING)
            .bind(i64::from(zone.0))
            .bind(None::<i64>)
            .bind(i64::try_from(MAX_LISTED).unwrap_or(i64::MAX))
            .fetch_all(&mut *self.connection)
            .await?;
        self.ledger.going = rows.iter().filter_map(|row| columns::claim(row, &self.apexes).ok()).collect();
        self.owners_by_id(numbers).await
    }

    async fn names(&mut self, scope: &Scope) -> Result<(), StoreError> {
        let mut by_zone: BTreeMap<ZoneNumber, Vec<Name>> = BTreeMap::new();
        let asked = scope.names.iter().filter_map(|(apex, name)| Some((self.ledger.zone(apex)?.number, name.clone())));
        let keys: Vec<(ZoneNumber, Name)> = asked.chain(self.swept_names()).collect();
        for (zone, name) in keys {
            let key = NameKey { zone, name: name.clone() };
            if let Entry::Vacant(unread) = self.ledger.claims.entry(key) {
                unread.insert(Vec::new());
                by_zone.entry(zone).or_default().push(name);
            }
        }
        for (zone, names) in by_zone {
            for names in names.chunks(NAMES as usize) {
                for claim in self.all_claims_at(zone, names).await? {
                    let key = NameKey { zone, name: claim.name.clone() };
                    let claims = self.ledger.claims.entry(key).or_default();
                    if claims.is_empty() {
                        claims.reserve_exact(1);
                    }
                    claims.push(claim);
                }
            }
        }
        Ok(())
    }

    async fn all_claims_at(&mut self, zone: ZoneNumber, names: &[Name]) -> Result<Vec<Claim>, StoreError> {
        let Some(list) = self.keys_of(zone, names) else { return Ok(Vec::new()) };
        let query = sqlx::query(sql::CLAIMS_AT_PACKED).bind(i64::from(zone.0)).bind(list);
        let row = query.fetch_one(&mut *self.connection).await?;
        match packed(&row, &self.apexes) {
            Ok(page) => Ok(page.claims),
            Err(page::Unreadable) => self.claims_at(sql::CLAIMS_AT, zone, names).await,
        }
    }

    /// The keys of names of a zone as a list for a statement.
    fn keys_of(&self, zone: ZoneNumber, names: &[Name]) -> Option<String> {
        let apex = self.apexes.get(&zone)?;
        Some(text_list(names.iter().filter_map(|name| name.sort_key(apex)).map(|key| hexadecimal(&key))))
    }

    /// The sweep that is undone, its owners as they are now, and its zones.
    async fn sweep(&mut self, id: u64) -> Result<(), StoreError> {
        let Some(found) = super::sweeps::read(&mut *self.connection, id).await? else { return Ok(()) };
        let swept = found.swept;
        let mut owners = BTreeSet::from([swept.scope.clone()]);
        owners.extend(swept.owners.iter().map(|one| one.owner.id.clone()));
        owners.extend(swept.owners.iter().filter_map(|one| one.parents.first().cloned()));
        self.owners_by_name(&owners).await?;
        self.tombstones(&owners).await?;
        let claims = swept.owners.iter().flat_map(|one| &one.claims);
        let zones: BTreeSet<u32> = claims
            .map(|claim| claim.zone.0)
            .chain(swept.owners.iter().flat_map(|one| &one.zones).map(|zone| zone.0))
            .collect();
        self.zones_by_id(&zones.into_iter().collect::<Vec<_>>()).await?;
        self.ledger.sweep = Some(swept);
        Ok(())
    }

    /// Names of what the sweep took, and those by which an ALIAS or an NS is judged.
    fn swept_names(&self) -> Vec<(ZoneNumber, Name)> {
        let mut names = Vec::new();
        for claim in self.ledger.sweep.iter().flat_map(|swept| &swept.owners).flat_map(|one| &one.claims) {
            let Some(apex) = self.apexes.get(&claim.zone) else { continue };
            names.push((claim.zone, claim.name.clone()));
            if claim.rtype == Rtype::ALIAS {
                names.push((claim.zone, apex.clone()));
            } else if claim.rtype == Rtype::NS {
                let targets = claim.records.iter().filter_map(|record| rdata::target(Rtype::NS, record));
                names.extend(targets.filter(|name| name.is_at_or_below(apex)).map(|name| (claim.zone, name)));
            }
        }
        names
    }

    async fn claims_at(
        &mut self,
        text: &'static str,
        zone: ZoneNumber,
        names: &[Name],
    ) -> Result<Vec<Claim>, StoreError> {
        let Some(list) = self.keys_of(zone, names) else { return Ok(Vec::new()) };
        let rows = sqlx::query(text).bind(i64::from(zone.0)).bind(list).fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().filter_map(|row| columns::claim(row, &self.apexes).ok()).collect())
    }

    /// What the owner of a patch keeps beside its claims at the names, and how many claims it has, if that is asked for.
    async fn attachments(&mut self, scope: &Scope) -> Result<(), StoreError> {
        if let Some(owner) = scope.count_of.as_ref().and_then(|id| self.ledger.owner(id)).map(|owner| owner.number) {
            let count: i64 = sqlx::query_scalar(sql::COUNT_CLAIMS_OF)
                .bind(i64::from(owner.0))
                .fetch_one(&mut *self.connection)
                .await?;
            self.ledger.claim_count = u64::try_from(count).unwrap_or(0);
            self.hold(None, Some(owner.0)).await?;
        }
        let Some(owner) = scope.attachments_of.as_ref().and_then(|id| self.ledger.owner(id)).map(|one| one.number)
        else {
            return Ok(());
        };
        let mut by_zone: BTreeMap<ZoneNumber, Vec<Name>> = BTreeMap::new();
        for (apex, name) in &scope.names {
            if let Some(zone) = self.ledger.zone(apex) {
                by_zone.entry(zone.number).or_default().push(name.clone());
            }
        }
        for (zone, names) in by_zone {
            let (Some(apex), Some(list)) = (self.apexes.get(&zone), self.keys_of(zone, &names)) else { continue };
            let rows = sqlx::query(sql::ATTACHMENTS_AT)
                .bind(i64::from(zone.0))
                .bind(list)
                .bind(i64::from(owner.0))
                .fetch_all(&mut *self.connection)
                .await?;
            for row in &rows {
                let Ok((name, rtype, content)) = super::attachments::read(row, apex) else { continue };
                let key = AttachmentKey { at: NameKey { zone, name }, rtype, owner };
                self.ledger.attachments.insert(key, content);
            }
        }
        Ok(())
    }

    /// Cuts and DNAMEs above every name that was read.
    async fn redirections(&mut self) -> Result<(), StoreError> {
        let mut by_zone: BTreeMap<ZoneNumber, HashSet<Name>> = BTreeMap::new();
        for key in self.ledger.claims.keys() {
            let Some(apex) = self.apexes.get(&key.zone) else { continue };
            let above = by_zone.entry(key.zone).or_default();
            for name in key.name.ancestors().skip(1).take_while(|name| name.is_at_or_below(apex)) {
                // Names above one that is there already are there, too.
                let is_known = self.ledger.claims.contains_key(&NameKey { zone: key.zone, name: name.clone() });
                if !is_known && !above.insert(name) {
                    break;
                }
            }
        }
        for (zone, names) in by_zone.into_iter().filter(|(_, names)| !names.is_empty()) {
            let names: Vec<Name> = names.into_iter().collect();
            for claim in self.claims_at(sql::REDIRECTIONS_AT, zone, &names).await? {
                let key = NameKey { zone, name: claim.name.clone() };
                self.ledger.redirections.entry(key).or_default().push(claim);
            }
        }
        Ok(())
    }

    /// What stands below names where a cut or a DNAME is written, or waits.
    async fn below(&mut self, scope: &Scope) -> Result<(), StoreError> {
        let mut keys: HashSet<NameKey> = HashSet::new();
        for (apex, name) in &scope.cuts {
            if let Some(zone) = self.ledger.zone(apex) {
                keys.insert(NameKey { zone: zone.number, name: name.clone() });
            }
        }
        let swept = self.ledger.sweep.iter().flat_map(|swept| &swept.owners).flat_map(|one| &one.claims);
        let queued = self.ledger.claims.values().flatten().filter(|claim| claim.state == ClaimState::Queued);
        for claim in queued.chain(swept) {
            if is_redirection(claim.rtype, self.apexes.get(&claim.zone) == Some(&claim.name)) {
                keys.insert(NameKey { zone: claim.zone, name: claim.name.clone() });
            }
        }
        for key in keys {
            let Some((first, last)) = self.apexes.get(&key.zone).and_then(|apex| range_below(apex, &key.name)) else {
                continue;
            };
            let rows = sqlx::query(sql::CLAIMS_BELOW)
                .bind(i64::from(key.zone.0))
                .bind(first)
                .bind(last)
                .bind(i64::try_from(MAX_BELOW + 1).unwrap_or(i64::MAX))
                .fetch_all(&mut *self.connection)
                .await?;
            let more = rows.len() > MAX_BELOW;
            let claims = rows.iter().filter_map(|row| columns::claim(row, &self.apexes).ok()).collect();
            self.ledger.below.insert(key, Below { claims, more });
        }
        Ok(())
    }

    /// The owners of all claims and zones read, and their ids in the claims.
    async fn fill_owners(&mut self) -> Result<(), StoreError> {
        let ledger = &self.ledger;
        let below = ledger.below.values().flat_map(|below| &below.claims);
        let claims = ledger.claims.values().chain(ledger.redirections.values()).flatten().chain(below);
        let zones = ledger.zones.values().chain(&ledger.around).map(|zone| zone.owner_number.0);
        let numbers = claims.map(|claim| claim.owner.0).chain(zones).collect();
        self.owners_by_id(numbers).await?;
        let ledger = &mut self.ledger;
        let below = ledger.below.values_mut().flat_map(|below| &mut below.claims);
        let claims = ledger.claims.values_mut().chain(ledger.redirections.values_mut()).flatten();
        for claim in claims.chain(below).chain(&mut ledger.going) {
            if let Some(owner) = ledger.owners.get(&claim.owner) {
                claim.owner_id = owner.id.clone();
            }
        }
        Ok(())
    }
}

/// The claims of a row that has many of them in one column.
fn packed(row: &SqliteRow, apexes: &Apexes) -> Result<page::Whole, page::Unreadable> {
    let count = columns::number(row, 0, "the count").map_err(|_| page::Unreadable)?;
    let octets: Option<&[u8]> = row.try_get(1).map_err(|_| page::Unreadable)?;
    page::whole(octets.unwrap_or_default(), count, apexes)
}

fn tombstone(row: &SqliteRow) -> Option<Tombstone> {
    let uid = columns::text(row, 1).ok()?;
    let epoch: Option<i64> = row.try_get(2).ok()?;
    Some(Tombstone {
        owner: OwnerId::new(&columns::text(row, 0).ok()?).ok()?,
        uid: (!uid.is_empty()).then_some(uid),
        epoch: epoch.and_then(|epoch| u64::try_from(epoch).ok()),
        at: columns::moment(row, 3).unwrap_or(Moment(0)),
        revision: columns::number(row, 4, "the revision").ok()?,
    })
}

/// Keys above and below all keys of names below one.
pub(super) fn range_below(apex: &Name, name: &Name) -> Option<(Vec<u8>, Vec<u8>)> {
    let first = name.sort_key(apex)?;
    let mut last = first.clone();
    match last.last_mut() {
        // A key ends with the 0 of its last label, and no other key begins with the same octets and a 1.
        Some(end) => *end = 1,
        None => last = vec![0xff; 256],
    }
    Some((first, last))
}

pub(super) fn text_list(texts: impl Iterator<Item = String>) -> String {
    serde_json::Value::from_iter(texts).to_string()
}

pub(super) fn number_list(numbers: impl IntoIterator<Item = u32>) -> String {
    serde_json::Value::from_iter(numbers).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Writer;

    #[tokio::test]
    async fn claims_read_many_at_a_time_are_those_read_row_by_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::open(&folder.path().join("t.db")).await.expect("a store");
        let fill = "
            INSERT INTO owner (id, name, state, created_at, asserted_at, revision)
                VALUES (2, 'a', 'active', 0, 0, 0), (3, 'b', 'active', 0, 0, 0);
            INSERT INTO zone (id, name, owner_id, serial, default_ttl, nameservers, contact, created_at, revision)
                VALUES (1, 'example.com.', 1, 1, 60, '[]', '', 0, 0);
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1200)
            INSERT INTO claim SELECT 1, CAST(printf('h%05d', x) || char(0) AS BLOB), 1, 2 + x % 2, '', 60, x'0400C0000201',
                NULL, 0, NULL, 'held', x, x, 1, 1 FROM n;
            INSERT INTO claim VALUES
                (1, x'6100', 1, 2, '', 60, x'0400C0000201', NULL, 0, NULL, 'held', 1, 2, 3, 4),
                (1, x'6100', 1, 3, 'a b', 60, x'0400200000000400C0000202', NULL, 1, '{\"k\":\"v w\"}', 'held', 1, 2, 3, 4),
                (1, x'6101016200', 16, 3, ' ', 60, x'02000120', NULL, 0, NULL, 'queued', 1, 2, 3, 4),
                (1, x'6200', 65401, 2, '', 60, x'0300017800', '{\"a\":true,\"aaaa\":false,\"static\":\"reject\"}',
                    0, NULL, 'quarantined', 1, 2, 3, 4),
                (1, x'6300', 65401, 2, '', 60, x'0300017800', NULL, 0, NULL, 'held', 1, 2, 3, 4),
                -- What cannot be used: data of no record, a state nobody knows.
                (1, x'6400', 1, 2, '', 60, x'0300C00002', NULL, 0, NULL, 'held', 1, 2, 3, 4),
                (1, x'6500', 1, 2, '', 60, x'0400C0000201', NULL, 0, NULL, 'lost', 1, 2, 3, 4);";
        sqlx::raw_sql(fill).execute(writer.connection()).await.expect("rows");
        let by_row = |reading: &Reading<'_>| {
            let mut all: Vec<Claim> = reading.ledger.claims.values().flatten().cloned().collect();
            all.sort_by_key(|one| (one.name.clone(), one.rtype, one.owner, one.set_id.clone()));
            all
        };
        fn new(connection: &mut SqliteConnection) -> Reading<'_> {
            Reading { connection, ledger: Ledger::default(), apexes: Apexes::new() }
        }
        for odd in ["", "UPDATE claim SET state = 'a b' WHERE name_key = x'6500'"] {
            sqlx::raw_sql(odd).execute(writer.connection()).await.expect("a change");
            let mut plain = new(writer.connection());
            plain.claims_with(sql::CLAIMS_WITH, BTreeSet::from([2])).await.expect("claims");
            let wanted = by_row(&plain);
            assert_eq!(wanted.len(), 600 + 4, "{odd}");
            let mut many = new(writer.connection());
            many.claims_of(BTreeSet::from([2])).await.expect("claims");
            assert_eq!(by_row(&many), wanted, "{odd}");
            let zone = ZoneNumber(1);
            let names = ["a", "b\\000.a", "b", "c", "d", "e", "h00007"];
            let names = names.map(|name| Name::parse(&format!("{name}.example.com.")).expect("a name"));
            let wanted = many.claims_at(sql::CLAIMS_AT, zone, &names).await.expect("claims");
            assert!(wanted.len() >= 5, "{wanted:?}");
            assert_eq!(many.all_claims_at(zone, &names).await.expect("claims"), wanted, "{odd}");
        }
    }
}
