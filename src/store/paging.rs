//! Pages of lists: at most so many rows after a key, read with LIMIT, so that no list is ever loaded whole
//! (ownership.md section 4).

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

use super::columns::{self, Apexes};
use super::error::StoreError;
use super::ledger::{number_list, text_list};
use super::reader::{Around, Reader, change, owner_by_name, zone_by_name};
use super::rows::{ChangeFilter, ChangeRow, ClaimFilter, ClaimRow, OwnerFilter, OwnerSummary, TokenRow, ZoneSummary};
use super::{codec, sql};
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::owner::{Owner, OwnerId, OwnerNumber, OwnerState};
use crate::wire::name::Name;

/// A place in a list: the key of the row before it. It outlives the row.
pub trait Cursor: Sized {
    /// Which list it is of.
    const LIST: &'static str;
    /// Its parts as text.
    fn parts(&self) -> Vec<String>;
    /// Reads [`Cursor::parts`].
    fn read(parts: &[String]) -> Option<Self>;
}

/// Which page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<C> {
    /// At most so many rows.
    pub limit: u32,
    /// After this one; none for the first page.
    pub after: Option<C>,
}

/// A page: its rows, the revision at which all of them were read, and where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paged<T, C> {
    /// The revision.
    pub revision: u64,
    /// The rows.
    pub items: Vec<T>,
    /// The key of the last row, if there are more.
    pub next: Option<C>,
}

/// Key of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimCursor {
    zone: i64,
    name_key: Vec<u8>,
    rtype: i64,
    owner: i64,
    set_id: String,
}

impl Cursor for ClaimCursor {
    const LIST: &'static str = "records";

    fn parts(&self) -> Vec<String> {
        let key = codec::hexadecimal(&self.name_key);
        vec![self.zone.to_string(), key, self.rtype.to_string(), self.owner.to_string(), self.set_id.clone()]
    }

    fn read(parts: &[String]) -> Option<ClaimCursor> {
        let [zone, key, rtype, owner, set_id] = parts else { return None };
        let octet = |at: usize| key.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        Some(ClaimCursor {
            zone: zone.parse().ok()?,
            name_key: (0..key.len()).step_by(2).map(octet).collect::<Option<_>>()?,
            rtype: rtype.parse().ok()?,
            owner: owner.parse().ok()?,
            set_id: set_id.clone(),
        })
    }
}

/// Id of an owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerCursor(String);

impl Cursor for OwnerCursor {
    const LIST: &'static str = "owners";

    fn parts(&self) -> Vec<String> {
        vec![self.0.clone()]
    }

    fn read(parts: &[String]) -> Option<OwnerCursor> {
        let [id] = parts else { return None };
        Some(OwnerCursor(id.clone()))
    }
}

/// Apex of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneCursor(String);

impl Cursor for ZoneCursor {
    const LIST: &'static str = "zones";

    fn parts(&self) -> Vec<String> {
        vec![self.0.clone()]
    }

    fn read(parts: &[String]) -> Option<ZoneCursor> {
        let [apex] = parts else { return None };
        Some(ZoneCursor(apex.clone()))
    }
}

/// Time and id of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenCursor(i64, String);

impl Cursor for TokenCursor {
    const LIST: &'static str = "tokens";

    fn parts(&self) -> Vec<String> {
        vec![self.0.to_string(), self.1.clone()]
    }

    fn read(parts: &[String]) -> Option<TokenCursor> {
        let [created, id] = parts else { return None };
        Some(TokenCursor(created.parse().ok()?, id.clone()))
    }
}

/// Revision and number within it of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The revision.
    pub revision: u64,
    /// Number of the row within the revision, from 1; the largest number stands for all of them.
    pub item: i64,
}

impl ChangeCursor {
    /// After all rows of a revision.
    pub fn after(revision: u64) -> ChangeCursor {
        ChangeCursor { revision, item: i64::MAX }
    }
}

impl Cursor for ChangeCursor {
    const LIST: &'static str = "changes";

    fn parts(&self) -> Vec<String> {
        vec![self.revision.to_string(), self.item.to_string()]
    }

    fn read(parts: &[String]) -> Option<ChangeCursor> {
        let [revision, item] = parts else { return None };
        Some(ChangeCursor { revision: revision.parse().ok()?, item: item.parse().ok()? })
    }
}

/// Cuts the row too many off, which was read to know whether there are more.
pub(super) fn cut<C>(
    rows: &mut Vec<SqliteRow>,
    limit: u32,
    key: impl Fn(&SqliteRow) -> Result<C, sqlx::Error>,
) -> Option<C> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if rows.len() <= limit {
        return None;
    }
    rows.truncate(limit);
    rows.last().and_then(|row| key(row).ok())
}

impl Reader {
    /// Claims in canonical order of name within each zone, zones in the order they were made.
    pub async fn claim_page(
        &self,
        filter: &ClaimFilter,
        page: &Page<ClaimCursor>,
    ) -> Result<Paged<ClaimRow, ClaimCursor>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let nothing = || Ok(Paged { revision, items: Vec::new(), next: None });
        let mut zone = None;
        if let Some(apex) = &filter.zone {
            match zone_by_name(&mut view, apex).await? {
                Some(found) => zone = Some(i64::from(found.number.0)),
                None => return nothing(),
            }
        }
        let mut owner = None;
        if let Some(id) = &filter.owner {
            match owner_by_name(&mut view, id).await? {
                Some(found) => owner = Some(i64::from(found.0)),
                None => return nothing(),
            }
        }
        let mut after = page.after.clone().unwrap_or_default();
        if zone.is_some_and(|zone| zone != after.zone) {
            after = ClaimCursor::default();
        }
        let names = match &filter.name {
            Some(name) => Some(places(&mut view, name).await?),
            None => None,
        };
        let text = match (&names, owner, zone) {
            (Some(_), _, _) => sql::CLAIM_PAGE_AT,
            (None, Some(_), _) => sql::CLAIM_PAGE_OF_OWNER,
            (None, None, Some(_)) => sql::CLAIM_PAGE_OF_ZONE,
            (None, None, None) if filter.state == Some(ClaimState::Queued) => sql::QUEUED_PAGE,
            (None, None, None) => sql::CLAIM_PAGE,
        };
        let labels = (!filter.labels.is_empty()).then(|| {
            let pairs: Vec<[&str; 2]> =
                filter.labels.iter().map(|(key, value)| [key.as_str(), value.as_str()]).collect();
            serde_json::json!(pairs).to_string()
        });
        let mut rows = sqlx::query(text)
            .bind(filter.rtype.map(|rtype| i64::from(rtype.0)))
            .bind(filter.state.map(ClaimState::text))
            .bind(labels)
            .bind(owner)
            .bind(zone)
            .bind(after.zone)
            .bind(after.name_key)
            .bind(after.rtype)
            .bind(after.owner)
            .bind(after.set_id)
            .bind(i64::from(page.limit) + 1)
            .bind(names)
            .fetch_all(&mut *view)
            .await?;
        let next = cut(&mut rows, page.limit, |row| {
            Ok(ClaimCursor {
                zone: row.try_get(0)?,
                name_key: row.try_get(1)?,
                rtype: row.try_get(2)?,
                owner: row.try_get(3)?,
                set_id: row.try_get(4)?,
            })
        });
        Ok(Paged { revision, items: claims(&mut view, &rows).await?, next })
    }

    /// Owners by id, in octet order.
    pub async fn owner_page(
        &self,
        filter: &OwnerFilter,
        page: &Page<OwnerCursor>,
    ) -> Result<Paged<OwnerSummary, OwnerCursor>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let mut parent = None;
        if let Some(id) = &filter.parent {
            match owner_by_name(&mut view, id).await? {
                Some(found) => parent = Some(i64::from(found.0)),
                None => return Ok(Paged { revision, items: Vec::new(), next: None }),
            }
        }
        let mut rows = sqlx::query(sql::OWNER_PAGE)
            .bind(page.after.as_ref().map_or("", |after| after.0.as_str()))
            .bind(parent)
            .bind(filter.state.map(OwnerState::text))
            .bind(filter.cluster.as_deref())
            .bind(i64::from(page.limit) + 1)
            .fetch_all(&mut *view)
            .await?;
        let next = cut(&mut rows, page.limit, |row| Ok(OwnerCursor(row.try_get(1)?)));
        let owners: Vec<Owner> = rows.iter().filter_map(|row| columns::owner(row).ok()).collect();
        let numbers = number_list(owners.iter().map(|owner| owner.number.0));
        let with_those_above = sqlx::query(sql::OWNERS_BY_ID).bind(&numbers).fetch_all(&mut *view).await?;
        let around = Around::of(
            with_those_above.iter().filter_map(|row| columns::owner(row).ok()).collect(),
            &sqlx::query(sql::CHILDREN_OF_THESE).bind(&numbers).fetch_all(&mut *view).await?,
            &sqlx::query(sql::CLAIMS_OF_THESE_COUNTED).bind(&numbers).fetch_all(&mut *view).await?,
        );
        Ok(Paged { revision, items: owners.into_iter().map(|owner| around.summary(owner)).collect(), next })
    }

    /// Zones by apex, in octet order of its text; of one owner if that is given.
    pub async fn zone_page(
        &self,
        owner: Option<&OwnerId>,
        page: &Page<ZoneCursor>,
    ) -> Result<Paged<ZoneSummary, ZoneCursor>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let mut rows = sqlx::query(sql::ZONE_PAGE)
            .bind(page.after.as_ref().map_or("", |after| after.0.as_str()))
            .bind(owner.map(OwnerId::as_str))
            .bind(i64::from(page.limit) + 1)
            .fetch_all(&mut *view)
            .await?;
        let next = cut(&mut rows, page.limit, |row| Ok(ZoneCursor(row.try_get(1)?)));
        let zones = rows.iter().filter_map(|row| columns::zone(row).ok());
        Ok(Paged { revision, items: zones.map(|zone| ZoneSummary { zone }).collect(), next })
    }

    /// Tokens, oldest first.
    pub async fn token_page(&self, page: &Page<TokenCursor>) -> Result<Paged<TokenRow, TokenCursor>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let after = page.after.clone().unwrap_or(TokenCursor(-1, String::new()));
        let mut rows = sqlx::query(sql::TOKEN_PAGE)
            .bind(after.0)
            .bind(after.1)
            .bind(i64::from(page.limit) + 1)
            .fetch_all(&mut *view)
            .await?;
        let next = cut(&mut rows, page.limit, |row| Ok(TokenCursor(row.try_get(6)?, row.try_get(0)?)));
        Ok(Paged { revision, items: rows.iter().filter_map(|row| columns::token(row).ok()).collect(), next })
    }

    /// History, oldest first. `since` and `limit` of the filter are not looked at: the page has them.
    pub async fn change_page(
        &self,
        filter: &ChangeFilter,
        page: &Page<ChangeCursor>,
    ) -> Result<Paged<ChangeRow, ChangeCursor>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let text = if filter.name.is_some() { sql::CHANGE_PAGE_OF_NAME } else { sql::CHANGE_PAGE };
        let after = page.after.unwrap_or_default();
        let mut rows = sqlx::query(text)
            .bind(i64::try_from(after.revision).unwrap_or(i64::MAX))
            .bind(after.item)
            .bind(filter.zone.as_ref().map(Name::to_string))
            .bind(filter.name.as_ref().map(Name::to_string))
            .bind(filter.owner.as_ref().map(OwnerId::to_string))
            .bind(filter.actor.as_deref())
            .bind(i64::from(page.limit) + 1)
            .fetch_all(&mut *view)
            .await?;
        let next = cut(&mut rows, page.limit, |row| {
            let revision: i64 = row.try_get(0)?;
            Ok(ChangeCursor { revision: u64::try_from(revision).unwrap_or(0), item: row.try_get(11)? })
        });
        Ok(Paged { revision, items: rows.iter().filter_map(|row| change(row).ok()).collect(), next })
    }
}

/// A name in every zone that it may be in: zone and key, as a list for one statement.
async fn places(view: &mut Transaction<'static, Sqlite>, name: &Name) -> Result<String, StoreError> {
    let apexes = text_list(name.ancestors().map(|apex| apex.to_string()));
    let zones = sqlx::query(sql::ZONES_BY_NAME).bind(apexes).fetch_all(&mut **view).await?;
    let places: Vec<serde_json::Value> = zones
        .iter()
        .filter_map(|row| columns::zone(row).ok())
        .filter_map(|zone| {
            let key = codec::hexadecimal(&name.sort_key(&zone.name)?);
            Some(serde_json::json!([zone.number.0, key]))
        })
        .collect();
    Ok(serde_json::Value::from(places).to_string())
}

/// Rows of claims with zones and owners; those that cannot be read are left out.
async fn claims(view: &mut Transaction<'static, Sqlite>, rows: &[SqliteRow]) -> Result<Vec<ClaimRow>, StoreError> {
    let distinct =
        |at: usize| -> BTreeSet<u32> { rows.iter().filter_map(|row| columns::number(row, at, "").ok()).collect() };
    let zones = sqlx::query(sql::ZONES_BY_ID).bind(number_list(distinct(0))).fetch_all(&mut **view).await?;
    let zones = zones.iter().filter_map(|row| columns::zone(row).ok());
    let apexes: Apexes = zones.map(|zone| (zone.number, zone.name)).collect();
    let owners = sqlx::query(sql::OWNERS_BY_ID).bind(number_list(distinct(3))).fetch_all(&mut **view).await?;
    let owners = owners.iter().filter_map(|row| columns::owner(row).ok());
    let owners: std::collections::BTreeMap<OwnerNumber, OwnerId> =
        owners.map(|owner| (owner.number, owner.id)).collect();
    let read = |claim: Claim| {
        let owner_id = owners.get(&claim.owner)?.clone();
        Some(ClaimRow { zone: apexes.get(&claim.zone)?.clone(), claim: Claim { owner_id, ..claim } })
    };
    Ok(rows.iter().filter_map(|row| columns::claim(row, &apexes).ok()).filter_map(read).collect())
}

/// Name, type and zone of an RRset with many changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestlessRow {
    /// Apex of the zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The type.
    pub rtype: String,
}

impl Cursor for RestlessRow {
    const LIST: &'static str = "flaps";

    fn parts(&self) -> Vec<String> {
        vec![self.name.clone(), self.rtype.clone(), self.zone.clone()]
    }

    fn read(parts: &[String]) -> Option<RestlessRow> {
        let [name, rtype, zone] = parts else { return None };
        Some(RestlessRow { zone: zone.clone(), name: name.clone(), rtype: rtype.clone() })
    }
}

/// Newest rows of the history that are looked through for RRsets with many changes.
const LOOKED_THROUGH: i64 = 100_000;
/// Changes that an RRset has at least among those to be looked at: three turns.
const RESTLESS: i64 = 6;

impl Reader {
    /// RRsets with many changes among the newest of the history, by name, type and zone.
    pub async fn restless_page(
        &self,
        zone: Option<&Name>,
        page: &Page<RestlessRow>,
    ) -> Result<Paged<RestlessRow, RestlessRow>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let after = page.after.clone().unwrap_or_default();
        let mut rows = sqlx::query(sql::RESTLESS_PAGE)
            .bind(LOOKED_THROUGH)
            .bind(RESTLESS)
            .bind(after.name)
            .bind(after.rtype)
            .bind(after.zone)
            .bind(i64::from(page.limit) + 1)
            .bind(zone.map(Name::to_string))
            .fetch_all(&mut *view)
            .await?;
        let read =
            |row: &SqliteRow| Ok(RestlessRow { name: row.try_get(0)?, rtype: row.try_get(1)?, zone: row.try_get(2)? });
        let next = cut(&mut rows, page.limit, read);
        Ok(Paged { revision, items: rows.iter().filter_map(|row| read(row).ok()).collect(), next })
    }
}
