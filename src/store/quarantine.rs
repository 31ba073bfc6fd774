//! Until when quarantined claims are kept, in the store.

use sqlx::SqliteConnection;

use super::error::StoreError;
use super::writer::{key_of, signed};
use super::{columns, sql};
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::command::{DueClaim, Purge};
use crate::ledger::owner::OwnerId;
use crate::ledger::plan::Plan;
use crate::ledger::quarantine::KEPT;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Most claims of one reading of what is due.
const MAX_DUE: i64 = 1_000;

/// Notes which claims a plan puts into quarantine, and which it takes out.
pub(super) async fn write(connection: &mut SqliteConnection, plan: &Plan, now: Moment) -> Result<(), StoreError> {
    let is_aside = |claim: &&Claim| claim.state == ClaimState::Quarantined;
    for change in &plan.claims {
        if let Some(claim) = change.before.as_ref().filter(is_aside) {
            bind(sql::END_QUARANTINE, plan, claim).execute(&mut *connection).await?;
        }
        if let Some(claim) = change.after.as_ref().filter(is_aside) {
            let until = signed(now.0.saturating_add(KEPT));
            bind(sql::QUARANTINE, plan, claim).bind(until).execute(&mut *connection).await?;
        }
    }
    Ok(())
}

type Query<'a> = sqlx::query::Query<'a, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

fn bind<'a>(text: &'static str, plan: &Plan, claim: &'a Claim) -> Query<'a> {
    sqlx::query(text)
        .bind(i64::from(claim.zone.0))
        .bind(key_of(plan, claim))
        .bind(i64::from(claim.rtype.0))
        .bind(i64::from(claim.owner.0))
        .bind(&claim.set_id)
}

/// What is to be purged at `now`, by owner: claims whose time is over, and owners that go and have nothing left.
pub(super) async fn due(connection: &mut SqliteConnection, now: Moment) -> Result<Vec<Purge>, StoreError> {
    let mut purges: Vec<Purge> = Vec::new();
    let rows = sqlx::query(sql::QUARANTINE_DUE).bind(signed(now.0)).bind(MAX_DUE).fetch_all(&mut *connection).await?;
    for row in &rows {
        let read = || {
            let apex = Name::parse(&columns::text(row, 1).ok()?).ok()?;
            let key: Vec<u8> = sqlx::Row::try_get(row, 2).ok()?;
            let name = Name::from_sort_key(&apex, &key).ok()?;
            let rtype = Rtype(columns::number(row, 3, "").ok()?);
            let (set_id, revision) = (columns::text(row, 4).ok()?, columns::number(row, 5, "").ok()?);
            let owner = OwnerId::new(&columns::text(row, 0).ok()?).ok()?;
            Some((owner, DueClaim { zone: apex, name, rtype, set_id, revision }))
        };
        let Some((owner, claim)) = read() else { continue };
        match purges.last_mut().filter(|purge| purge.owner == owner) {
            Some(purge) => purge.claims.push(claim),
            None => purges.push(Purge { owner, claims: vec![claim] }),
        }
    }
    let rows = sqlx::query(sql::OWNERS_GONE).bind(MAX_DUE).fetch_all(&mut *connection).await?;
    let owners = rows.iter().filter_map(|row| OwnerId::new(&columns::text(row, 0).ok()?).ok());
    purges.extend(owners.map(|owner| Purge { owner, claims: Vec::new() }));
    Ok(purges)
}
