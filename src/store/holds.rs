//! Holds in the store: rows as values, and back.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::columns::{self, Broken};
use super::error::StoreError;
use super::sql;
use crate::ledger::hold::{HeldDelete, Hold};
use crate::ledger::owner::{OwnerId, OwnerNumber};
use crate::ledger::plan::HoldChange;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Reads a row: id, owner's number, owner, since, claims, deletes.
pub(super) fn hold(row: &SqliteRow) -> Result<Hold, Broken> {
    let text: &str = row.try_get(5).map_err(|error| error.to_string())?;
    let deletes: Vec<(String, String, u16, String)> =
        super::codec::from_json(text).ok_or_else(|| "its deletes do not parse".to_owned())?;
    let read = |(zone, name, rtype, set_id): (String, String, u16, String)| {
        let (zone, name) = (Name::parse(&zone).ok()?, Name::parse(&name).ok()?);
        Some(HeldDelete { zone, name, rtype: Rtype(rtype), set_id })
    };
    Ok(Hold {
        id: columns::number(row, 0, "the number")?,
        owner: OwnerNumber(columns::number(row, 1, "the owner")?),
        owner_id: OwnerId::new(&columns::text(row, 2)?).map_err(|error| error.to_string())?,
        since: columns::moment(row, 3)?,
        claims: columns::number(row, 4, "the count")?,
        deletes: deletes.into_iter().filter_map(read).collect(),
    })
}

/// Writes what a plan makes of an owner's hold.
pub(super) async fn write(connection: &mut SqliteConnection, change: &HoldChange) -> Result<(), StoreError> {
    let Some(one) = change.after.as_ref().or(change.before.as_ref()) else { return Ok(()) };
    sqlx::query(sql::DELETE_HOLD).bind(i64::from(one.owner.0)).execute(&mut *connection).await?;
    let Some(hold) = &change.after else { return Ok(()) };
    let deletes: Vec<(String, String, u16, &str)> = hold
        .deletes
        .iter()
        .map(|one| (one.zone.to_string(), one.name.to_string(), one.rtype.0, one.set_id.as_str()))
        .collect();
    sqlx::query(sql::WRITE_HOLD)
        .bind(i64::try_from(hold.id).unwrap_or(i64::MAX))
        .bind(i64::from(hold.owner.0))
        .bind(i64::try_from(hold.since.0).unwrap_or(i64::MAX))
        .bind(i64::try_from(hold.claims).unwrap_or(i64::MAX))
        .bind(super::codec::json(&deletes))
        .execute(&mut *connection)
        .await?;
    Ok(())
}

/// A hold in the history.
pub(super) fn json(hold: &Hold) -> String {
    serde_json::json!({ "id": hold.word(), "claims": hold.claims, "deletes": hold.deletes.len() }).to_string()
}
