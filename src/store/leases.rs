//! Leases in the store.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{self, Broken};
use super::error::StoreError;
use super::sql;
use super::writer::signed;
use crate::ledger::command::{EndLease, LeaseStep};
use crate::ledger::lease::{Lease, LeaseStage, OnExpiry};
use crate::ledger::owner::{Owner, OwnerId};
use crate::zone::alias::Moment;

/// Most leases of one reading of what is due.
const MAX_DUE: i64 = 1_000;

/// Reads the columns of a lease behind those of an owner, the first one at `at`; none if there is none.
pub(super) fn lease(row: &SqliteRow, at: usize) -> Result<Option<Lease>, Broken> {
    let Some(seconds) = columns::optional_number(row, at, "the lease")? else { return Ok(None) };
    let policy = columns::text(row, at + 1)?;
    let expired: Option<u64> = columns::optional_number(row, at + 4, "the end of the lease")?;
    let is_settled = columns::number::<i64>(row, at + 5, "settled")? != 0;
    Ok(Some(Lease {
        seconds,
        on_expiry: OnExpiry::from_text(&policy).unwrap_or_default(),
        grace: columns::number(row, at + 2, "the grace")?,
        expires: columns::moment(row, at + 3)?,
        stage: match (expired, is_settled) {
            (None, _) => LeaseStage::Running,
            (Some(at), false) => LeaseStage::Expired(Moment(at)),
            (Some(at), true) => LeaseStage::Settled(Moment(at)),
        },
    }))
}

/// Writes an owner's lease, or that it has none.
pub(super) async fn write(connection: &mut SqliteConnection, owner: &Owner) -> Result<(), StoreError> {
    let number = i64::from(owner.number.0);
    let Some(lease) = &owner.lease else {
        sqlx::query(sql::DELETE_LEASE).bind(number).execute(connection).await?;
        return Ok(());
    };
    let (expired, settled) = match lease.stage {
        LeaseStage::Running => (None, 0_i64),
        LeaseStage::Expired(at) => (Some(signed(at.0)), 0),
        LeaseStage::Settled(at) => (Some(signed(at.0)), 1),
    };
    sqlx::query(sql::WRITE_LEASE)
        .bind(number)
        .bind(signed(lease.seconds))
        .bind(lease.on_expiry.text())
        .bind(signed(lease.grace))
        .bind(signed(lease.expires.0))
        .bind(expired)
        .bind(settled)
        .execute(connection)
        .await?;
    Ok(())
}

/// Leases that run out by `now`, and those whose grace is over by then and whose policy does something.
pub(super) async fn due(connection: &mut SqliteConnection, now: Moment) -> Result<Vec<EndLease>, StoreError> {
    let mut steps = Vec::new();
    for (text, is_over) in [(sql::LEASES_OVER, true), (sql::LEASES_DUE, false)] {
        let rows = sqlx::query(text).bind(signed(now.0)).bind(MAX_DUE).fetch_all(&mut *connection).await?;
        steps.extend(rows.iter().filter_map(|row| {
            let at = columns::moment(row, 1).ok()?;
            let step = if is_over { LeaseStep::RunPolicy { expired: at } } else { LeaseStep::Expire { expires: at } };
            Some(EndLease { owner: OwnerId::new(&columns::text(row, 0).ok()?).ok()?, step })
        }));
    }
    Ok(steps)
}
