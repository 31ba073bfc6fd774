//! Responses to requests with an `Idempotency-Key`, in the store: written in the transaction of what they tell of.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::error::StoreError;
use super::reader::Reader;
use super::sql;
use super::writer::{Writer, signed};
use crate::zone::alias::Moment;

/// How long a response is kept, in milliseconds: 24 hours.
pub const KEPT: u64 = 24 * 60 * 60 * 1_000;
/// Most responses that are kept; the oldest goes first.
pub const MAX_KEPT: u64 = 100_000;
/// Responses over their time that go when one is written: more than one, so that they become fewer.
const TRIM_STEP: i64 = 10;

/// A response as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// SHA-256 of the request.
    pub print: [u8; 32],
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

fn kept(row: &SqliteRow) -> Option<Kept> {
    let (print, status, body): (Vec<u8>, i64, Vec<u8>) =
        (row.try_get(0).ok()?, row.try_get(1).ok()?, row.try_get(2).ok()?);
    Some(Kept { print: print.try_into().ok()?, status: u16::try_from(status).ok()?, body })
}

async fn read(
    connection: &mut SqliteConnection,
    token: &str,
    key: &str,
    now: Moment,
) -> Result<Option<Kept>, StoreError> {
    let since = signed(now.0.saturating_sub(KEPT));
    let query = sqlx::query(sql::ONCE).bind(token).bind(key).bind(since);
    Ok(query.fetch_optional(connection).await?.as_ref().and_then(kept))
}

impl Writer {
    /// The response to the request of a token with this key, as of the open transaction.
    pub async fn once(&mut self, token: &str, key: &str, now: Moment) -> Result<Option<Kept>, StoreError> {
        read(self.connection(), token, key, now).await
    }

    /// Keeps a response in the open transaction, and takes some that are over their time or number.
    pub async fn keep_once(&mut self, token: &str, key: &str, kept: &Kept, now: Moment) -> Result<(), StoreError> {
        sqlx::query(sql::TRIM_ONCE)
            .bind(signed(now.0.saturating_sub(KEPT)))
            .bind(TRIM_STEP)
            .bind(signed(MAX_KEPT))
            .execute(self.connection())
            .await?;
        sqlx::query(sql::WRITE_ONCE)
            .bind(token)
            .bind(key)
            .bind(&kept.print[..])
            .bind(i64::from(kept.status))
            .bind(&kept.body)
            .bind(signed(now.0))
            .execute(self.connection())
            .await?;
        Ok(())
    }
}

impl Reader {
    /// The response to the request of a token with this key, if one is kept at `now`.
    pub async fn once(&self, token: &str, key: &str, now: Moment) -> Result<Option<Kept>, StoreError> {
        let (mut view, _) = self.view().await?;
        read(&mut view, token, key, now).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn responses_go_by_time_and_number_the_oldest_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::open(&folder.path().join("t.db")).await.expect("a store");
        writer.begin().await.expect("a transaction");
        let kept = |body: &[u8]| Kept { print: [7; 32], status: 200, body: body.to_vec() };
        let day = |days: u64| Moment((100 + days) * KEPT);
        writer.keep_once("t", "a", &kept(b"1"), day(0)).await.expect("a row");
        assert_eq!(writer.once("t", "a", day(0)).await.expect("a row"), Some(kept(b"1")));
        assert_eq!(writer.once("u", "a", day(0)).await.expect("none"), None, "another token");
        assert_eq!(writer.once("t", "a", Moment(day(1).0 + 1)).await.expect("none"), None, "it is over");
        // The same key begins anew then.
        writer.keep_once("t", "a", &kept(b"2"), day(2)).await.expect("a row");
        assert_eq!(writer.once("t", "a", day(2)).await.expect("a row"), Some(kept(b"2")));
        let fill = "
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)
            INSERT INTO once (token, key, print, status, body, at)
            SELECT 'f', x, zeroblob(32), 200, x'', ?1 FROM n";
        sqlx::query(fill).bind(signed(day(2).0)).execute(writer.connection()).await.expect("rows");
        writer.keep_once("t", "b", &kept(b"3"), day(2)).await.expect("a row");
        let count: i64 =
            sqlx::query_scalar("SELECT count(*) FROM once").fetch_one(writer.connection()).await.expect("a number");
        assert_eq!(u64::try_from(count), Ok(MAX_KEPT));
        assert_eq!(writer.once("t", "a", day(2)).await.expect("none"), None, "the oldest went");
        assert_eq!(writer.once("t", "b", day(2)).await.expect("a row"), Some(kept(b"3")));
    }
}
