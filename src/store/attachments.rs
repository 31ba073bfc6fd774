//! What owners keep beside their claims (see `ledger::attachment`).

use std::collections::HashMap;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::error::StoreError;
use super::reader::{Reader, zone_by_name};
use super::writer::Writer;
use super::{codec, columns, sql};
use crate::ledger::attachment::Attachment;
use crate::ledger::owner::{OwnerId, OwnerNumber};
use crate::ledger::plan::Plan;
use crate::ledger::wave::{Closed, Field};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Name, type and content of a row that begins with those.
pub(super) fn read(row: &SqliteRow, apex: &Name) -> Result<(Name, Rtype, Attachment), columns::Broken> {
    let key: &[u8] = row.try_get(0).map_err(|error| error.to_string())?;
    let name = Name::from_sort_key(apex, key).map_err(|error| error.to_string())?;
    let content = codec::from_json(&columns::text(row, 2)?).ok_or_else(|| "its content does not parse".to_owned())?;
    Ok((name, Rtype(columns::number(row, 1, "the type")?), content))
}

pub(super) async fn write(connection: &mut SqliteConnection, plan: &Plan) -> Result<(), StoreError> {
    for change in &plan.attachments {
        let apex = plan.ledger.zones.get(&change.key.at.zone).map(|zone| &zone.name);
        let Some(key) = apex.and_then(|apex| change.key.at.name.sort_key(apex)) else { continue };
        let text = if change.after.is_empty() { sql::DELETE_ATTACHMENT } else { sql::WRITE_ATTACHMENT };
        let query = sqlx::query(text)
            .bind(i64::from(change.key.at.zone.0))
            .bind(key)
            .bind(i64::from(change.key.rtype.0))
            .bind(i64::from(change.key.owner.0));
        let query = if change.after.is_empty() { query } else { query.bind(codec::json(&change.after)) };
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// What stands beside claims at an RRset, by owner.
pub type Attachments = HashMap<(Name, Rtype, OwnerNumber), Attachment>;

/// A claim that a wave passed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Apex of its zone.
    pub zone: Name,
    /// Its name.
    pub name: Name,
    /// Its type.
    pub rtype: Rtype,
    /// Its set id, empty if there is none.
    pub set_id: String,
    /// When the wave was over.
    pub since: Moment,
}

impl Reader {
    /// All that owners keep beside their claims in a zone.
    pub async fn attachments(&self, apex: &Name) -> Result<Attachments, StoreError> {
        let (mut view, _) = self.view().await?;
        let Some(zone) = zone_by_name(&mut view, apex).await? else { return Ok(Attachments::new()) };
        let query = sqlx::query(sql::ATTACHMENTS_OF_ZONE).bind(i64::from(zone.number.0));
        let rows = query.fetch_all(&mut *view).await?;
        let one = |row: &SqliteRow| {
            let (name, rtype, content) = read(row, apex).ok()?;
            let owner = OwnerNumber(columns::number(row, 3, "the owner").ok()?);
            Some(((name, rtype, owner), content))
        };
        Ok(rows.iter().filter_map(one).collect())
    }

    /// Claims of an owner that a wave passed by, and that were not asked for since.
    pub async fn unconfirmed(&self, owner: &OwnerId) -> Result<Vec<Unconfirmed>, StoreError> {
        let (mut view, _) = self.view().await?;
        let rows = sqlx::query(sql::UNCONFIRMED_OF).bind(owner.as_str()).fetch_all(&mut *view).await?;
        let one = |row: &SqliteRow| {
            let zone = Name::parse(&columns::text(row, 5).ok()?).ok()?;
            let key: &[u8] = row.try_get(1).ok()?;
            Some(Unconfirmed {
                name: Name::from_sort_key(&zone, key).ok()?,
                rtype: Rtype(columns::number(row, 2, "").ok()?),
                set_id: columns::text(row, 3).ok()?,
                since: columns::moment(row, 4).ok()?,
                zone,
            })
        };
        Ok(rows.iter().filter_map(one).collect())
    }
}

impl Writer {
    /// How many held claims an owner has in a zone.
    pub async fn count_in(&mut self, (owner, zone): Field) -> Result<usize, StoreError> {
        let count: i64 = sqlx::query_scalar(sql::COUNT_CLAIMS_IN)
            .bind(i64::from(owner.0))
            .bind(i64::from(zone.0))
            .fetch_one(self.connection())
            .await?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Marks what a wave passed by, in the open transaction, and forgets marks of what was asked for since.
    pub async fn mark_unconfirmed(&mut self, closed: &Closed, now: Moment) -> Result<(), StoreError> {
        let (owner, zone) = (i64::from(closed.field.0.0), i64::from(closed.field.1.0));
        let time = |moment: Moment| i64::try_from(moment.0).unwrap_or(i64::MAX);
        sqlx::query(sql::FORGET_CONFIRMED).bind(owner).bind(zone).execute(self.connection()).await?;
        sqlx::query(sql::MARK_UNCONFIRMED)
            .bind(owner)
            .bind(zone)
            .bind(time(closed.began))
            .bind(time(now))
            .execute(self.connection())
            .await?;
        Ok(())
    }
}
