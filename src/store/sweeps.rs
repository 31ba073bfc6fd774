//! Sweeps in the store: what each took as values, and back, and how many are kept.

use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::codec;
use super::columns::{self, Broken};
use super::error::StoreError;
use super::reader::Reader;
use super::rows::Listing;
use super::sql;
use super::writer::signed;
use crate::ledger::alias_options::AliasOptions;
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::lease::{Lease, LeaseStage, OnExpiry};
use crate::ledger::owner::{Labels, Owner, OwnerId, OwnerNumber, OwnerState, Source};
use crate::ledger::sweep::{
    KEPT, MAX_REPORTS, MAX_SWEEPS, MAX_TAKEN, SweepChange, SweepMode, SweepState, Swept, SweptOwner,
};
use crate::ledger::zone::ZoneNumber;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// An owner and what was taken of it.
#[derive(Serialize, Deserialize)]
struct Before {
    number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    labels: Labels,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    created: u64,
    asserted: u64,
    revision: u64,
    /// Seconds, policy, grace.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<(u64, String, u64)>,
    /// Its use of the external-dns door.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_dns: Option<String>,
    claims: Vec<Taken>,
    zones: Vec<u32>,
}

/// A claim.
#[derive(Serialize, Deserialize)]
struct Taken {
    zone: u32,
    name: String,
    rtype: u16,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    set: String,
    ttl: u32,
    /// Octets as the column `data` of a claim, in hexadecimal.
    data: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<AliasOptions>,
    share: bool,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    labels: Labels,
    state: String,
    asserted: u64,
    created: u64,
    created_revision: u64,
    revision: u64,
}

fn taken(claim: &Claim) -> Taken {
    Taken {
        zone: claim.zone.0,
        name: claim.name.to_string(),
        rtype: claim.rtype.0,
        set: claim.set_id.clone(),
        ttl: claim.ttl,
        data: codec::hexadecimal(&codec::pack(&claim.records)),
        alias: claim.alias,
        share: claim.share,
        labels: claim.labels.clone(),
        state: claim.state.text().to_owned(),
        asserted: claim.asserted.0,
        created: claim.created.0,
        created_revision: claim.created_revision,
        revision: claim.revision,
    }
}

fn octets(hexadecimal: &str) -> Option<Vec<u8>> {
    let pairs = (0..hexadecimal.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(hexadecimal.get(at..at + 2)?, 16).ok()).collect()
}

fn claim(taken: Taken, owner: OwnerNumber, id: &OwnerId) -> Option<Claim> {
    let rtype = Rtype(taken.rtype);
    Some(Claim {
        zone: ZoneNumber(taken.zone),
        name: Name::parse(&taken.name).ok()?,
        rtype,
        owner,
        owner_id: id.clone(),
        set_id: taken.set,
        ttl: taken.ttl,
        records: codec::unpack(rtype, &octets(&taken.data)?)?,
        alias: taken.alias,
        share: taken.share,
        labels: taken.labels,
        state: ClaimState::from_text(&taken.state)?,
        asserted: Moment(taken.asserted),
        created: Moment(taken.created),
        created_revision: taken.created_revision,
        revision: taken.revision,
    })
}

fn before(one: &SweptOwner) -> Before {
    let owner = &one.owner;
    Before {
        number: owner.number.0,
        kind: owner.kind.clone(),
        uid: owner.uid.clone(),
        source: owner.source.clone(),
        labels: owner.labels.clone(),
        state: owner.state.text().to_owned(),
        generation: owner.generation,
        epoch: owner.epoch,
        created: owner.created.0,
        asserted: owner.asserted.0,
        revision: owner.revision,
        external_dns: owner.external_dns.as_ref().map(|door| door.txt_owner_id.clone().unwrap_or_default()),
        lease: owner.lease.as_ref().map(|lease| (lease.seconds, lease.on_expiry.text().to_owned(), lease.grace)),
        claims: one.claims.iter().map(taken).collect(),
        zones: one.zones.iter().map(|zone| zone.0).collect(),
    }
}

fn ids(texts: &str) -> Vec<OwnerId> {
    let texts: Vec<String> = codec::from_json(texts).unwrap_or_default();
    texts.iter().filter_map(|text| OwnerId::new(text).ok()).collect()
}

fn texts(ids: &[OwnerId]) -> String {
    serde_json::Value::from_iter(ids.iter().map(OwnerId::as_str)).to_string()
}

/// Reads a row: owner, parents, records, before. A claim that cannot be read is left out.
fn owner(row: &SqliteRow) -> Option<SweptOwner> {
    let id = OwnerId::new(&columns::text(row, 0).ok()?).ok()?;
    let before: Before = codec::from_json(&columns::text(row, 3).ok()?)?;
    let number = OwnerNumber(before.number);
    let lease = before.lease.map(|(seconds, policy, grace)| Lease {
        seconds,
        on_expiry: OnExpiry::from_text(&policy).unwrap_or_default(),
        grace,
        expires: Moment(0),
        stage: LeaseStage::Running,
    });
    Some(SweptOwner {
        parents: ids(&columns::text(row, 1).ok()?),
        records: columns::number(row, 2, "the count").ok()?,
        claims: before.claims.into_iter().filter_map(|taken| claim(taken, number, &id)).collect(),
        zones: before.zones.into_iter().map(ZoneNumber).collect(),
        owner: Owner {
            number,
            id,
            kind: before.kind,
            uid: before.uid,
            parent: None,
            source: before.source,
            labels: before.labels,
            state: OwnerState::from_text(&before.state)?,
            generation: before.generation,
            epoch: before.epoch,
            created: Moment(before.created),
            asserted: Moment(before.asserted),
            revision: before.revision,
            lease,
            external_dns: before.external_dns.as_deref().map(codec::door_use),
        },
    })
}

/// Reads a row: id, scope, parents, mode, revision, time, actor, state, taken. The owners come with another statement.
fn sweep(row: &SqliteRow) -> Result<SweepRow, Broken> {
    let (mode, state) = (columns::text(row, 3)?, columns::text(row, 7)?);
    let swept = Swept {
        id: columns::number(row, 0, "the number")?,
        scope: OwnerId::new(&columns::text(row, 1)?).map_err(|error| error.to_string())?,
        parents: ids(&columns::text(row, 2)?),
        mode: SweepMode::from_text(&mode).ok_or_else(|| format!("its mode {mode} is unknown"))?,
        as_of: columns::number(row, 4, "the revision")?,
        at: columns::moment(row, 5)?,
        actor: columns::text(row, 6)?,
        state: SweepState::from_text(&state).ok_or_else(|| format!("its state {state} is unknown"))?,
        owners: Vec::new(),
    };
    Ok(SweepRow { swept, taken: columns::number(row, 8, "the count")? })
}

/// A sweep in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepRow {
    /// The sweep; in a list without its owners.
    pub swept: Swept,
    /// How many claims it took.
    pub taken: u64,
}

/// A sweep with all that it took; what does not parse is not there.
pub(super) async fn read(connection: &mut SqliteConnection, id: u64) -> Result<Option<SweepRow>, StoreError> {
    let row = sqlx::query(sql::SWEEP).bind(signed(id)).fetch_optional(&mut *connection).await?;
    let Some(mut found) = row.and_then(|row| sweep(&row).ok()) else { return Ok(None) };
    let rows = sqlx::query(sql::SWEPT).bind(signed(id)).fetch_all(&mut *connection).await?;
    found.swept.owners = rows.iter().filter_map(owner).collect();
    Ok(Some(found))
}

/// Writes what a plan makes of a sweep. A new one makes room for itself.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    change: &SweepChange,
    now: Moment,
) -> Result<(), StoreError> {
    let swept = match change {
        SweepChange::Made(swept) => swept,
        SweepChange::Moved { id, after, .. } => {
            sqlx::query(sql::MOVE_SWEEP).bind(signed(*id)).bind(after.text()).execute(connection).await?;
            return Ok(());
        }
    };
    sqlx::query(sql::WRITE_SWEEP)
        .bind(signed(swept.id))
        .bind(swept.scope.as_str())
        .bind(texts(&swept.parents))
        .bind(swept.mode.text())
        .bind(signed(swept.as_of))
        .bind(signed(swept.at.0))
        .bind(&swept.actor)
        .bind(swept.state.text())
        .bind(signed(swept.taken()))
        .execute(&mut *connection)
        .await?;
    for (item, one) in (0_i64..).zip(&swept.owners) {
        sqlx::query(sql::WRITE_SWEPT)
            .bind(signed(swept.id))
            .bind(item)
            .bind(one.owner.id.as_str())
            .bind(texts(&one.parents))
            .bind(signed(one.records))
            .bind(codec::json(&before(one)))
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(sql::TRIM_SWEEPS)
        .bind(signed(now.0.saturating_sub(KEPT)))
        .bind(signed(MAX_SWEEPS))
        .bind(signed(MAX_REPORTS))
        .bind(signed(MAX_TAKEN))
        .execute(connection)
        .await?;
    Ok(())
}

/// A sweep in the history: before and after.
pub(super) fn history(change: &SweepChange) -> (&OwnerId, Option<String>, Option<String>) {
    let json = |id: u64, state: SweepState| serde_json::json!({ "id": Swept::word(id), "state": state.text() });
    match change {
        SweepChange::Made(swept) => {
            let mut after = json(swept.id, swept.state);
            after["mode"] = swept.mode.text().into();
            after["owners"] = swept.owners.len().into();
            after["records"] = swept.taken().into();
            (&swept.scope, None, Some(after.to_string()))
        }
        SweepChange::Moved { id, scope, before, after } => {
            (scope, Some(json(*id, *before).to_string()), Some(json(*id, *after).to_string()))
        }
    }
}

impl Reader {
    /// Sweeps that are kept at `now`, the latest first; without what they found.
    pub async fn sweeps(&self, now: Moment) -> Result<Listing<SweepRow>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let since = signed(now.0.saturating_sub(KEPT));
        let rows = sqlx::query(sql::SWEEPS).bind(since).fetch_all(&mut *view).await?;
        Ok(Listing { revision, items: rows.iter().filter_map(|row| sweep(row).ok()).collect() })
    }

    /// A sweep with all that it found, and the revision of the store.
    pub async fn sweep(&self, id: u64) -> Result<(u64, Option<SweepRow>), StoreError> {
        let (mut view, revision) = self.view().await?;
        Ok((revision, read(&mut view, id).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Writer;

    #[tokio::test]
    async fn sweeps_are_kept_by_time_number_and_size_and_the_latest_always() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::open(&folder.path().join("t.db")).await.expect("a store");
        writer.begin().await.expect("a transaction");
        let fill = "INSERT INTO sweep VALUES
            (1, 's', '[]', 'delete', 0, 1, '', 'done', 5), (2, 's', '[]', 'report', 0, 2000, '', 'done', 0),
            (3, 's', '[]', 'delete', 0, 2000, '', 'done', 5), (4, 's', '[]', 'report', 0, 2000, '', 'done', 0),
            (5, 's', '[]', 'delete', 0, 2000, '', 'done', 5), (6, 's', '[]', 'delete', 0, 2000, '', 'done', 5)";
        sqlx::query(fill).execute(writer.connection()).await.expect("rows");
        let mut left = async |since: i64, sweeps: i64, reports: i64, taken: i64| -> Vec<i64> {
            let query = sqlx::query(sql::TRIM_SWEEPS).bind(since).bind(sweeps).bind(reports).bind(taken);
            query.execute(writer.connection()).await.expect("trimmed");
            let ids = sqlx::query_scalar("SELECT id FROM sweep ORDER BY id");
            ids.fetch_all(writer.connection()).await.expect("ids")
        };
        assert_eq!(left(1, 10, 10, 100).await, [1, 2, 3, 4, 5, 6]);
        assert_eq!(left(2, 10, 10, 100).await, [2, 3, 4, 5, 6], "by time");
        assert_eq!(left(0, 3, 1, 100).await, [3, 4, 5, 6], "by number, each kind by itself");
        assert_eq!(left(0, 3, 1, 10).await, [4, 5, 6], "by size");
        assert_eq!(left(0, 3, 1, 1).await, [4, 6], "the latest stays, whatever its size");
    }
}
