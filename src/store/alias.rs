//! What is known of external ALIAS targets, and the events that tell of them (alias.md sections 8 and 9).

use std::sync::Arc;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::columns::{self, Broken};
use super::error::StoreError;
use super::sql;
use super::writer::Writer;
use crate::wire::name::Name;
use crate::zone::addresses::Addresses;
use crate::zone::alias::{AliasEntry, AliasState, Family, FamilyAnswer, LastLookup, Moment};

/// Rows of one transaction, at most.
pub const MAX_ROWS: usize = 5_000;

/// One family of a target as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRow {
    /// Name of the group of upstreams.
    pub group: String,
    /// The target.
    pub target: Name,
    /// The family.
    pub family: Family,
    /// What is known.
    pub answer: FamilyAnswer,
}

/// Something that the server tells of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetEvent {
    /// As `alias.state_changed`.
    pub kind: &'static str,
    /// The target in presentation form.
    pub target: String,
    /// The owner, if all records that lead to it have the same.
    pub owner: String,
    /// JSON.
    pub what: String,
    /// When.
    pub at: Moment,
}

fn signed(moment: Moment) -> i64 {
    i64::try_from(moment.0).unwrap_or(i64::MAX)
}

fn family_text(family: Family) -> &'static str {
    match family {
        Family::A => "A",
        Family::Aaaa => "AAAA",
    }
}

/// Names of a chain, from JSON.
fn names(text: &str) -> Result<Vec<Name>, Broken> {
    let names: Vec<String> = serde_json::from_str(text).map_err(|_| Broken::from("its chain does not parse"))?;
    let names = names.iter().map(|name| Name::parse(name)).collect::<Result<Vec<Name>, _>>();
    names.map_err(|_| Broken::from("its chain has what is no name"))
}

/// What names of a chain are as JSON.
fn names_text(names: &[Name]) -> String {
    serde_json::json!(names.iter().map(Name::to_string).collect::<Vec<_>>()).to_string()
}

/// What the last lookup told; none where the row is of a target that nobody had asked for.
fn read_lookup(row: &SqliteRow) -> Result<Option<Arc<LastLookup>>, Broken> {
    let error = columns::optional_text(row, 13)?;
    let error = error.map(|text| AliasState::from_text(&text).ok_or_else(|| Broken::from("its error is unknown")));
    let upstream = columns::optional_text(row, 14)?;
    let upstream = upstream.map(|text| text.parse().map_err(|_| Broken::from("its upstream is no address")));
    let chain = columns::optional_text(row, 15)?.map(|text| names(&text)).transpose()?;
    let lookup = LastLookup {
        failures: columns::number(row, 12, "its failures")?,
        error: error.transpose()?,
        upstream: upstream.transpose()?,
        chain: chain.unwrap_or_default().into(),
        takeover_risk: columns::number::<u8>(row, 16, "its takeover risk")? != 0,
    };
    Ok((lookup != LastLookup::default()).then(|| Arc::new(lookup)))
}

fn read(row: &SqliteRow) -> Result<TargetRow, Broken> {
    let broken = |what: &str| Broken::from(what);
    let target = Name::parse(&columns::text(row, 1)?).map_err(|_| broken("its target is no name"))?;
    let family = columns::text(row, 2)?;
    let family = Family::BOTH.into_iter().find(|one| family_text(*one) == family);
    let family = family.ok_or_else(|| broken("its family is neither A nor AAAA"))?;
    let state = AliasState::from_text(&columns::text(row, 3)?).ok_or_else(|| broken("its state is unknown"))?;
    let octets: Vec<u8> = row.try_get(5).map_err(|_| broken("its addresses are no octets"))?;
    if !octets.len().is_multiple_of(family.octets()) {
        return Err(broken("its addresses have the wrong length"));
    }
    let chain = columns::optional_text(row, 6)?.map(|text| names(&text)).transpose()?.map(Arc::from);
    let moment = |at| Ok::<_, Broken>(columns::optional_number::<u64>(row, at, "a time")?.map(Moment));
    let answer = FamilyAnswer {
        state,
        since: columns::moment(row, 4)?,
        addresses: Addresses::new(&octets, family),
        crossing: chain,
        ttl: columns::number(row, 7, "its TTL")?,
        highest_ttl: columns::number(row, 8, "its highest TTL")?,
        last_ok: moment(9)?,
        checked: moment(10)?,
        changed: moment(11)?,
        lookup: read_lookup(row)?,
    };
    Ok(TargetRow { group: columns::text(row, 0)?, target, family, answer })
}

impl Writer {
    /// All that is kept; a row that cannot be read is a sentence.
    pub async fn targets(&mut self) -> Result<Vec<Result<TargetRow, String>>, StoreError> {
        let rows = sqlx::query(sql::ALIAS_TARGETS).fetch_all(self.connection()).await?;
        let named = |row: &SqliteRow| columns::text(row, 1).unwrap_or_else(|_| "?".to_owned());
        Ok(rows
            .iter()
            .map(|row| {
                read(row).map_err(|broken| format!("what is known of the ALIAS target {}: {broken}", named(row)))
            })
            .collect())
    }

    /// Writes both families of a target in the open transaction.
    pub async fn put_target(&mut self, group: &str, entry: &AliasEntry) -> Result<(), StoreError> {
        for family in Family::BOTH {
            let answer = entry.family(family);
            let lookup = answer.lookup.as_deref().cloned().unwrap_or_default();
            sqlx::query(sql::WRITE_ALIAS_TARGET)
                .bind(group)
                .bind(entry.target.name.to_string())
                .bind(family_text(family))
                .bind(answer.state.text())
                .bind(signed(answer.since))
                .bind(answer.addresses.octets(family))
                .bind(answer.crossing.as_deref().map(names_text))
                .bind(i64::from(answer.ttl))
                .bind(i64::from(answer.highest_ttl))
                .bind(answer.last_ok.map(signed))
                .bind(answer.checked.map(signed))
                .bind(answer.changed.map(signed))
                .bind(i64::from(lookup.failures))
                .bind(lookup.error.map(AliasState::text))
                .bind(lookup.upstream.map(|address| address.to_string()))
                .bind(Some(&*lookup.chain).filter(|names| !names.is_empty()).map(names_text))
                .bind(i64::from(lookup.takeover_risk))
                .execute(self.connection())
                .await?;
        }
        Ok(())
    }

    /// Forgets a target in the open transaction.
    pub async fn delete_target(&mut self, group: &str, target: &Name) -> Result<(), StoreError> {
        let query = sqlx::query(sql::DELETE_ALIAS_TARGET).bind(group).bind(target.to_string());
        query.execute(self.connection()).await?;
        Ok(())
    }

    /// The id of an owner by its number.
    pub async fn owner_id(&mut self, number: u32) -> Result<Option<String>, StoreError> {
        let query = sqlx::query_scalar(sql::OWNER_ID).bind(i64::from(number));
        Ok(query.fetch_optional(self.connection()).await?)
    }
}
