//! Reads of what is committed, for lists and look-ups; read-only connections that never wait for the writer.

use sqlx::SqlitePool;

use super::error::StoreError;
use super::rows::{
    ChangeFilter, ChangeRow, ClaimFilter, ClaimRow, Listing, OwnerFilter, OwnerSummary, TokenRow, ZoneSummary,
};
use crate::ledger::owner::OwnerId;
use crate::wire::name::Name;

/// A pool of read-only connections. Clones share it.
#[derive(Clone, Debug)]
pub struct Reader {
    #[allow(dead_code)]
    pool: SqlitePool,
}

impl Reader {
    /// All zones by name.
    pub async fn zones(&self) -> Result<Listing<ZoneSummary>, StoreError> {
        unimplemented!()
    }
    /// A zone by its apex.
    pub async fn zone(&self, _name: &Name) -> Result<Option<ZoneSummary>, StoreError> {
        unimplemented!()
    }
    /// Owners by name.
    pub async fn owners(&self, _filter: &OwnerFilter) -> Result<Listing<OwnerSummary>, StoreError> {
        unimplemented!()
    }
    /// An owner.
    pub async fn owner(&self, _owner: &OwnerId) -> Result<Option<OwnerSummary>, StoreError> {
        unimplemented!()
    }
    /// Claims in canonical order of zone, name, type.
    pub async fn claims(&self, _filter: &ClaimFilter) -> Result<Listing<ClaimRow>, StoreError> {
        unimplemented!()
    }
    /// History.
    pub async fn changes(&self, _filter: &ChangeFilter) -> Result<Listing<ChangeRow>, StoreError> {
        unimplemented!()
    }
    /// A token by its id.
    pub async fn token(&self, _id: &str) -> Result<Option<TokenRow>, StoreError> {
        unimplemented!()
    }
    /// All tokens.
    pub async fn tokens(&self) -> Result<Listing<TokenRow>, StoreError> {
        unimplemented!()
    }
    /// The revision last committed.
    pub async fn revision(&self) -> Result<u64, StoreError> {
        unimplemented!()
    }
}
