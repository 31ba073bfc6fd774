//! What the external-dns door reads of an owner at each call.

use super::columns;
use super::error::StoreError;
use super::ledger::text_list;
use super::reader::Reader;
use super::sql;
use crate::ledger::owner::{Owner, OwnerId};

impl Reader {
    /// An owner without what stands around it, and whether there is none because it was deleted.
    pub async fn door_owner(&self, id: &OwnerId) -> Result<(Option<Owner>, bool), StoreError> {
        let (mut view, _) = self.view().await?;
        let list = text_list(std::iter::once(id.to_string()));
        let rows = sqlx::query(sql::OWNERS_BY_NAME).bind(&list).fetch_all(&mut *view).await?;
        let owner = rows.iter().filter_map(|row| columns::owner(row).ok()).find(|owner| owner.id == *id);
        if owner.is_some() {
            return Ok((owner, false));
        }
        let gone = sqlx::query(sql::TOMBSTONES).bind(&list).fetch_optional(&mut *view).await?;
        Ok((None, gone.is_some()))
    }
}
