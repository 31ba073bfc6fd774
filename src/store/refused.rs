//! Claims that were refused because of another owner, as the controller remembers them (ownership.md section 4).

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::error::StoreError;
use super::paging::{Cursor, Page, Paged};
use super::reader::Reader;
use super::writer::Writer;
use super::{columns, sql};
use crate::zone::alias::Moment;

/// Which wish it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefusedKey {
    /// The name in presentation form.
    pub name: String,
    /// The type in text.
    pub rtype: String,
    /// Apex of the zone.
    pub zone: String,
    /// Who wants it.
    pub owner: String,
    /// Set id, empty if there is none.
    pub set_id: String,
}

/// A refused wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Which.
    pub key: RefusedKey,
    /// What was wanted, in presentation form.
    pub values: Vec<String>,
    /// Who stood in the way.
    pub holder: String,
    /// Why.
    pub code: String,
    /// The door.
    pub door: String,
    /// When it was first refused.
    pub since: Moment,
}

impl Cursor for RefusedKey {
    const LIST: &'static str = "refused";

    fn parts(&self) -> Vec<String> {
        vec![self.name.clone(), self.rtype.clone(), self.zone.clone(), self.owner.clone(), self.set_id.clone()]
    }

    fn read(parts: &[String]) -> Option<RefusedKey> {
        let [name, rtype, zone, owner, set_id] = parts else { return None };
        let [name, rtype, zone, owner, set_id] = [name, rtype, zone, owner, set_id].map(String::clone);
        Some(RefusedKey { name, rtype, zone, owner, set_id })
    }
}

fn key(row: &SqliteRow) -> Result<RefusedKey, sqlx::Error> {
    Ok(RefusedKey {
        name: row.try_get(0)?,
        rtype: row.try_get(1)?,
        zone: row.try_get(2)?,
        owner: row.try_get(3)?,
        set_id: row.try_get(4)?,
    })
}

fn read(row: &SqliteRow) -> Option<RefusedRow> {
    Some(RefusedRow {
        key: key(row).ok()?,
        values: serde_json::from_str(&columns::text(row, 5).ok()?).ok()?,
        holder: columns::text(row, 6).ok()?,
        code: columns::text(row, 7).ok()?,
        door: columns::text(row, 8).ok()?,
        since: columns::moment(row, 9).ok()?,
    })
}

impl Writer {
    /// All of them; the controller keeps their number bounded.
    pub async fn refused(&mut self) -> Result<Vec<RefusedRow>, StoreError> {
        let page = sqlx::query(sql::REFUSED_PAGE).bind("").bind("").bind("").bind("").bind("").bind(i64::MAX);
        let rows = page.bind(None::<String>).bind(None::<String>).fetch_all(self.connection()).await?;
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Writes one in the open transaction.
    pub async fn put_refused(&mut self, row: &RefusedRow) -> Result<(), StoreError> {
        sqlx::query(sql::WRITE_REFUSED)
            .bind(&row.key.name)
            .bind(&row.key.rtype)
            .bind(&row.key.zone)
            .bind(&row.key.owner)
            .bind(&row.key.set_id)
            .bind(serde_json::json!(row.values).to_string())
            .bind(&row.holder)
            .bind(&row.code)
            .bind(&row.door)
            .bind(i64::try_from(row.since.0).unwrap_or(i64::MAX))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Takes one out in the open transaction.
    pub async fn delete_refused(&mut self, key: &RefusedKey) -> Result<(), StoreError> {
        let query = sqlx::query(sql::DELETE_REFUSED).bind(&key.name).bind(&key.rtype).bind(&key.zone);
        query.bind(&key.owner).bind(&key.set_id).execute(self.connection()).await?;
        Ok(())
    }
}

impl Reader {
    /// Refused wishes by name, type, zone and owner, in octet order; of a zone or an owner if given.
    pub async fn refused_page(
        &self,
        zone: Option<&str>,
        owner: Option<&str>,
        page: &Page<RefusedKey>,
    ) -> Result<Paged<RefusedRow, RefusedKey>, StoreError> {
        let (mut view, revision) = self.view().await?;
        let after = page.after.clone().unwrap_or_default();
        let mut rows = sqlx::query(sql::REFUSED_PAGE)
            .bind(after.name)
            .bind(after.rtype)
            .bind(after.zone)
            .bind(after.owner)
            .bind(after.set_id)
            .bind(i64::from(page.limit) + 1)
            .bind(zone)
            .bind(owner)
            .fetch_all(&mut *view)
            .await?;
        let next = super::paging::cut(&mut rows, page.limit, key);
        Ok(Paged { revision, items: rows.iter().filter_map(read).collect(), next })
    }
}
