//! Which claims name which names, in a table that follows from the claims: so that what would point at nothing is found
//! at the cost of what goes, and not of what is there (ownership.md section 3.4).

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row, SqliteConnection};

use super::codec::{self, hexadecimal};
use super::columns;
use super::error::StoreError;
use super::sql;
use super::writer::{Writer, key_of};
use crate::ledger::claim::Claim;
use crate::ledger::owner::{OwnerId, OwnerNumber};
use crate::ledger::plan::Plan;
use crate::ledger::zone::ZoneNumber;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata;

/// Rows of one statement, and of one reading.
const ROWS: usize = 1_000;

/// A held claim that names a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The name that it names.
    pub target: Name,
    /// Number of its zone.
    pub zone: ZoneNumber,
    /// Apex of its zone.
    pub apex: Name,
    /// Its name.
    pub name: Name,
    /// Its type.
    pub rtype: Rtype,
    /// Number of its owner.
    pub owner: OwnerNumber,
    /// Its owner.
    pub owner_id: OwnerId,
    /// Its set id, empty if there is none.
    pub set_id: String,
}

/// The names that a claim names, without the root, which stands for none.
pub fn targets(claim: &Claim) -> BTreeSet<Name> {
    targets_of(claim.rtype, &claim.records)
}

fn targets_of(rtype: Rtype, records: &[Vec<u8>]) -> BTreeSet<Name> {
    let known = match rtype {
        Rtype::ALIAS => Rtype::CNAME,
        Rtype::CNAME | Rtype::MX | Rtype::SRV | Rtype::NS | Rtype::SVCB | Rtype::HTTPS => rtype,
        _ => return BTreeSet::new(),
    };
    records.iter().filter_map(|record| rdata::target(known, record)).filter(|name| !name.is_root()).collect()
}

fn key(name: &Name) -> String {
    // Every name is at or below the root.
    hexadecimal(&name.sort_key(&Name::root()).unwrap_or_default())
}

/// Rows to put in or to take out, as values of one JSON list each.
#[derive(Default)]
struct Rows(Vec<serde_json::Value>);

impl Rows {
    fn push(&mut self, target: &Name, (zone, name_key, rtype): (u32, &[u8], u16), owner: u32, set_id: &str) {
        self.0.push(serde_json::json!([key(target), zone, hexadecimal(name_key), rtype, owner, set_id]));
    }

    fn claim(&mut self, plan: &Plan, claim: &Claim, targets: impl Iterator<Item = Name>) {
        let mut name_key = None;
        for target in targets {
            let Some(name_key) = name_key.get_or_insert_with(|| key_of(plan, claim)) else { return };
            self.push(&target, (claim.zone.0, name_key, claim.rtype.0), claim.owner.0, &claim.set_id);
        }
    }

    async fn run(self, connection: &mut SqliteConnection, text: &'static str) -> Result<(), StoreError> {
        for rows in self.0.chunks(ROWS) {
            let list = serde_json::Value::from(rows).to_string();
            sqlx::query(text).bind(list).execute(&mut *connection).await?;
        }
        Ok(())
    }
}

/// Follows a plan. Claims of types that name nothing cost nothing.
pub(super) async fn write(connection: &mut SqliteConnection, plan: &Plan) -> Result<(), StoreError> {
    let (mut gone, mut new) = (Rows::default(), Rows::default());
    for change in &plan.claims {
        let before = change.before.as_ref().map(targets).unwrap_or_default();
        let after = change.after.as_ref().map(targets).unwrap_or_default();
        if before == after {
            continue;
        }
        gone.claim(plan, change.either(), before.difference(&after).cloned());
        new.claim(plan, change.either(), after.difference(&before).cloned());
    }
    gone.run(connection, sql::DELETE_TARGETS).await?;
    for (fresh, one) in plan.fresh.iter().flat_map(|fresh| fresh.claims().map(move |one| (fresh, one))) {
        let targets = targets_of(one.rrset.rtype, &one.rrset.records);
        if !targets.is_empty() {
            new.claim(plan, &fresh.claim(one), targets.into_iter());
        }
        // A large import has many.
        if new.0.len() >= ROWS {
            std::mem::take(&mut new).run(connection, sql::WRITE_TARGETS).await?;
        }
    }
    new.run(connection, sql::WRITE_TARGETS).await
}

/// A place among the claims: what comes after it is read next.
#[derive(Default)]
struct Place {
    zone: i64,
    name_key: Vec<u8>,
    rtype: i64,
    owner: i64,
    set_id: String,
}

/// Reads a page of claims behind a place, up to a zone; gives back their rows and the place of the last.
async fn page(
    connection: &mut SqliteConnection,
    after: &Place,
    last_zone: i64,
) -> Result<(Rows, Option<Place>), StoreError> {
    let rows = sqlx::query(sql::CLAIMS_WITH_TARGETS)
        .bind(after.zone)
        .bind(&after.name_key)
        .bind(after.rtype)
        .bind(after.owner)
        .bind(&after.set_id)
        .bind(last_zone)
        .bind(i64::try_from(ROWS).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?;
    let mut found = Rows::default();
    let mut place = None;
    for row in &rows {
        let at = Place {
            zone: row.try_get(0)?,
            name_key: row.try_get(1)?,
            rtype: row.try_get(2)?,
            owner: row.try_get(3)?,
            set_id: row.try_get(4)?,
        };
        let data: &[u8] = row.try_get(5)?;
        let number = |value: i64| u32::try_from(value).unwrap_or(0);
        let rtype = u16::try_from(at.rtype).unwrap_or(0);
        // A claim that does not parse is not served, and names nothing.
        for target in targets_of(Rtype(rtype), &codec::unpack(Rtype(rtype), data).unwrap_or_default()) {
            found.push(&target, (number(at.zone), &at.name_key, rtype), number(at.owner), &at.set_id);
        }
        place = Some(at);
    }
    Ok((found, place.filter(|_| rows.len() == ROWS)))
}

/// Takes out what the claims of a zone name, before they go themselves.
pub(super) async fn delete_zone(connection: &mut SqliteConnection, zone: ZoneNumber) -> Result<(), StoreError> {
    let zone = i64::from(zone.0);
    let mut next = Some(Place { zone, ..Place::default() });
    while let Some(after) = next {
        let (rows, place) = page(&mut *connection, &after, zone).await?;
        rows.run(&mut *connection, sql::DELETE_TARGETS).await?;
        next = place;
    }
    Ok(())
}

/// Fills the table of a store that was made before there was one, in one transaction.
pub(super) async fn fill(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let is_filled: i64 = sqlx::query_scalar(sql::TARGETS_FILLED).fetch_one(&mut *connection).await?;
    if is_filled != 0 {
        return Ok(());
    }
    let mut transaction = connection.begin().await?;
    let mut next = Some(Place::default());
    while let Some(after) = next {
        let (rows, place) = page(&mut transaction, &after, i64::MAX).await?;
        rows.run(&mut transaction, sql::WRITE_TARGETS).await?;
        next = place;
    }
    sqlx::query(sql::NOTE_TARGETS_FILLED).execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

fn reference(row: &SqliteRow) -> Option<Reference> {
    let target: Vec<u8> = row.try_get(0).ok()?;
    let apex = Name::parse(&columns::text(row, 6).ok()?).ok()?;
    let name_key: Vec<u8> = row.try_get(2).ok()?;
    Some(Reference {
        target: Name::from_sort_key(&Name::root(), &target).ok()?,
        zone: ZoneNumber(columns::number(row, 1, "the zone").ok()?),
        name: Name::from_sort_key(&apex, &name_key).ok()?,
        apex,
        rtype: Rtype(columns::number(row, 3, "the type").ok()?),
        owner: OwnerNumber(columns::number(row, 4, "the owner").ok()?),
        owner_id: OwnerId::new(&columns::text(row, 7).ok()?).ok()?,
        set_id: columns::text(row, 5).ok()?,
    })
}

impl Writer {
    /// Held claims that name one of `names`, or a name below one of `tops`, as of the open transaction: up to `most` for
    /// each thousand of names and for each top.
    pub async fn references(&mut self, names: &[Name], tops: &[Name], most: u32) -> Result<Vec<Reference>, StoreError> {
        let mut found = Vec::new();
        for names in names.chunks(ROWS) {
            let list = super::ledger::text_list(names.iter().map(key));
            let query = sqlx::query(sql::REFERENCES_TO).bind(list).bind(most);
            found.extend(query.fetch_all(self.connection()).await?.iter().filter_map(reference));
        }
        for top in tops {
            let Some((first, last)) = super::ledger::range_below(&Name::root(), top) else { continue };
            let query = sqlx::query(sql::REFERENCES_BELOW).bind(first).bind(last).bind(most);
            found.extend(query.fetch_all(self.connection()).await?.iter().filter_map(reference));
        }
        Ok(found)
    }
}
