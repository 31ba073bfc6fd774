//! What the store holds at the start, name by name. A row that cannot be used is left out with an alarm.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use sqlx::Row;

use super::columns::{self, Apexes};
use super::error::StoreError;
use super::page;
use super::sql;
use super::writer::Writer;
use crate::ledger::claim::Claim;
use crate::ledger::owner::{Owner, OwnerNumber};
use crate::ledger::zone::{ZoneNumber, ZoneRow};
use crate::wire::name::Name;
use crate::zone::node::RRsetRef;

/// Claims of a page, about: some ten thousand octets to some hundred thousand, which the processor's cache holds.
const PAGE: i64 = 1_000;
/// Most sentences about broken rows of one kind; the rest is counted.
const MAX_ALARMS: usize = 100;

/// What an alarm is about, so that many of one kind do not hide another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A zone or an owner.
    Frame,
    /// A claim, or the claims of a name.
    Claim,
}

/// Sentences about rows that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alarms {
    frame: Vec<String>,
    claims: Vec<String>,
    more: u64,
}

impl Alarms {
    /// Adds one.
    pub fn add(&mut self, subject: Subject, sentence: impl FnOnce() -> String) {
        let sentences = match subject {
            Subject::Frame => &mut self.frame,
            Subject::Claim => &mut self.claims,
        };
        if sentences.len() < MAX_ALARMS {
            sentences.push(sentence());
        } else {
            self.more += 1;
        }
    }

    /// The sentences, the last one saying how many more there were.
    pub fn into_sentences(self) -> Vec<String> {
        let mut sentences = self.frame;
        sentences.extend(self.claims);
        if self.more > 0 {
            sentences.push(format!("{} more rows of the store cannot be read and are not served", self.more));
        }
        sentences
    }
}

/// Zones and owners of the store, all of them.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// By number.
    pub zones: Vec<ZoneRow>,
    /// By number.
    pub owners: BTreeMap<OwnerNumber, Owner>,
}

/// Reads zones and owners.
pub async fn frame(writer: &mut Writer, alarms: &mut Alarms) -> Result<Frame, StoreError> {
    let mut frame = Frame::default();
    for row in sqlx::query(sql::ALL_OWNERS).fetch_all(writer.connection()).await? {
        match columns::owner(&row) {
            Ok(owner) => {
                frame.owners.insert(owner.number, owner);
            }
            Err(why) => alarms.add(Subject::Frame, || format!("an owner of the store cannot be read: {why}")),
        }
    }
    for row in sqlx::query(sql::ALL_ZONES).fetch_all(writer.connection()).await? {
        match columns::zone(&row) {
            Ok(zone) => frame.zones.push(zone),
            Err(why) => {
                let name: String = row.try_get(1).unwrap_or_default();
                alarms.add(Subject::Frame, || {
                    format!("the zone {} cannot be read and is not served: {why}", name.escape_debug())
                });
            }
        }
    }
    Ok(frame)
}

/// The held claims of a name.
#[derive(Debug)]
pub enum Stored<'a> {
    /// One claim for each type, of types that are served as they stand in the store, by type.
    Plain {
        /// The zone.
        zone: ZoneNumber,
        /// The name.
        name: Name,
        /// What is claimed; its records are well formed.
        rrsets: &'a [RRsetRef<'a>],
    },
    /// All others.
    Claims(Vec<Claim>),
}

/// How the start reads the claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Many at a time, and one by one where something cannot be used.
    Paged,
    /// One by one: the same, but slower.
    RowByRow,
}

/// Names from one on, without it, to another: zone and key.
#[derive(Clone, Debug)]
struct Range {
    from: (i64, Vec<u8>),
    to: (i64, Vec<u8>),
}

/// Calls `each` with the held claims of every name, in canonical order, zone by zone.
pub async fn names(
    writer: &mut Writer,
    frame: &Frame,
    reading: Reading,
    alarms: &mut Alarms,
    mut each: impl FnMut(Stored<'_>),
) -> Result<(), StoreError> {
    let apexes: Apexes = frame.zones.iter().map(|zone| (zone.number, zone.name.clone())).collect();
    let known = page::Known { apexes: &apexes, owners: &frame.owners };
    let mut from = (i64::MIN, Vec::new());
    loop {
        let end = match reading {
            Reading::Paged => page_end(writer, &from).await?,
            Reading::RowByRow => None,
        };
        let is_last = end.is_none();
        let range = Range { from, to: end.unwrap_or((i64::MAX, Vec::new())) };
        let is_read = match reading {
            Reading::Paged => read_page(writer, &range, &known, &mut each).await?,
            Reading::RowByRow => Err(page::Unreadable),
        };
        if is_read == Err(page::Unreadable) {
            rows(writer, frame, &apexes, &range, alarms, &mut each).await?;
        }
        if is_last {
            return Ok(());
        }
        from = range.to;
    }
}

/// The name with which a page ends that starts behind `from`; none if it is the last page.
async fn page_end(writer: &mut Writer, from: &(i64, Vec<u8>)) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
    let row =
        sqlx::query(sql::PAGE_END).bind(from.0).bind(&from.1).bind(PAGE).fetch_optional(writer.connection()).await?;
    // A place that cannot be read ends no page: what follows is read row by row.
    Ok(row.and_then(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?))))
}

async fn read_page(
    writer: &mut Writer,
    range: &Range,
    known: &page::Known<'_>,
    each: &mut impl FnMut(Stored<'_>),
) -> Result<Result<(), page::Unreadable>, StoreError> {
    let query = sqlx::query(sql::PAGE).bind(range.from.0).bind(&range.from.1).bind(range.to.0).bind(&range.to.1);
    let row = query.fetch_one(writer.connection()).await?;
    let count: i64 = row.try_get(0)?;
    let Ok(octets) = row.try_get::<Option<&[u8]>, _>(1) else { return Ok(Err(page::Unreadable)) };
    let Ok(count) = usize::try_from(count) else { return Ok(Err(page::Unreadable)) };
    Ok(page::read(octets.unwrap_or_default(), count, known, each))
}

/// The claims of a range row by row.
async fn rows(
    writer: &mut Writer,
    frame: &Frame,
    apexes: &Apexes,
    range: &Range,
    alarms: &mut Alarms,
    each: &mut impl FnMut(Stored<'_>),
) -> Result<(), StoreError> {
    let mut at_name: Vec<Claim> = Vec::new();
    let query =
        sqlx::query(sql::CLAIMS_BETWEEN).bind(range.from.0).bind(&range.from.1).bind(range.to.0).bind(&range.to.1);
    let mut rows = query.fetch(writer.connection());
    while let Some(row) = rows.next().await {
        let row = row?;
        let mut claim = match columns::claim_to_serve(&row, apexes) {
            Ok(claim) => claim,
            Err(why) => {
                alarms.add(Subject::Claim, || {
                    format!("a claim of the store cannot be read and is not served ({}): {why}", place(&row, apexes))
                });
                continue;
            }
        };
        if !claim.is_held() {
            continue;
        }
        match frame.owners.get(&claim.owner) {
            Some(owner) => claim.owner_id = owner.id.clone(),
            None => {
                alarms.add(Subject::Claim, || {
                    format!("a claim of the store is not served ({}): its owner is not there", place(&row, apexes))
                });
                continue;
            }
        }
        if at_name.first().is_some_and(|first| first.zone != claim.zone || first.name != claim.name) {
            each(Stored::Claims(std::mem::take(&mut at_name)));
        }
        at_name.push(claim);
    }
    if !at_name.is_empty() {
        each(Stored::Claims(at_name));
    }
    Ok(())
}

/// Where a row stands, as far as that can be read.
fn place(row: &sqlx::sqlite::SqliteRow, apexes: &Apexes) -> String {
    let zone = columns::number::<u32>(row, 0, "").unwrap_or(0);
    let key: Vec<u8> = row.try_get(1).unwrap_or_default();
    let rtype = columns::number::<u16>(row, 2, "").unwrap_or(0);
    let apex = apexes.get(&ZoneNumber(zone));
    let name = apex.and_then(|apex| Name::from_sort_key(apex, &key).ok());
    match name {
        Some(name) => format!("{name} {}", crate::wire::codes::Rtype(rtype)),
        None => format!("zone {zone}, name {}, type {rtype}", super::codec::hexadecimal(&key)),
    }
}
