//! What the store holds at the start, name by name. A row that cannot be used is left out with an alarm.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use sqlx::Row;

use super::columns::{self, Apexes};
use super::error::StoreError;
use super::sql;
use super::writer::Writer;
use crate::ledger::claim::Claim;
use crate::ledger::owner::{Owner, OwnerNumber};
use crate::ledger::zone::ZoneRow;

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

/// Calls `each` with the held claims of every name, in canonical order, zone by zone.
pub async fn names(
    writer: &mut Writer,
    frame: &Frame,
    alarms: &mut Alarms,
    mut each: impl FnMut(Vec<Claim>),
) -> Result<(), StoreError> {
    let apexes: Apexes = frame.zones.iter().map(|zone| (zone.number, zone.name.clone())).collect();
    let mut at_name: Vec<Claim> = Vec::new();
    let mut rows = sqlx::query(sql::ALL_CLAIMS).fetch(writer.connection());
    while let Some(row) = rows.next().await {
        let row = row?;
        let mut claim = match columns::claim_to_serve(&row, &apexes) {
            Ok(claim) => claim,
            Err(why) => {
                alarms.add(Subject::Claim, || {
                    format!("a claim of the store cannot be read and is not served ({}): {why}", place(&row, &apexes))
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
                    format!("a claim of the store is not served ({}): its owner is not there", place(&row, &apexes))
                });
                continue;
            }
        }
        if at_name.first().is_some_and(|first| first.zone != claim.zone || first.name != claim.name) {
            each(std::mem::take(&mut at_name));
        }
        at_name.push(claim);
    }
    if !at_name.is_empty() {
        each(at_name);
    }
    Ok(())
}

/// Where a row stands, as far as that can be read.
fn place(row: &sqlx::sqlite::SqliteRow, apexes: &Apexes) -> String {
    let zone = columns::number::<u32>(row, 0, "").unwrap_or(0);
    let key: Vec<u8> = row.try_get(1).unwrap_or_default();
    let rtype = columns::number::<u16>(row, 2, "").unwrap_or(0);
    let apex = apexes.get(&crate::ledger::zone::ZoneNumber(zone));
    let name = apex.and_then(|apex| crate::wire::name::Name::from_sort_key(apex, &key).ok());
    match name {
        Some(name) => format!("{name} {}", crate::wire::codes::Rtype(rtype)),
        None => format!("zone {zone}, name {}, type {rtype}", super::codec::hexadecimal(&key)),
    }
}
