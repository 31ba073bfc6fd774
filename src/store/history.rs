//! The limits of the history: how far back it goes, and the small steps in which the oldest rows go (reliability.md
//! section 4).

use sqlx::{Row, SqliteConnection};

use super::error::StoreError;
use super::reader::Reader;
use super::sql;
use super::writer::Writer;
use crate::zone::alias::Moment;

/// Most rows that one step takes.
pub const TRIM_STEP: i64 = 1_000;

/// How much history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Rows.
    pub rows: i64,
    /// Milliseconds.
    pub age: u64,
}

impl Default for Keep {
    /// 10 million rows or 90 days.
    fn default() -> Keep {
        Keep { rows: 10_000_000, age: 90 * 24 * 3_600_000 }
    }
}

/// Counts the rows that a command added.
pub(super) async fn count(connection: &mut SqliteConnection, added: i64) -> Result<(), StoreError> {
    if added > 0 {
        sqlx::query(sql::COUNT_HISTORY).bind(added).execute(connection).await?;
    }
    Ok(())
}

impl Writer {
    /// One step: takes the oldest rows that are over a limit, up to [`TRIM_STEP`], in the open transaction. Gives back
    /// how many went.
    pub async fn trim(&mut self, now: Moment, keep: Keep) -> Result<u64, StoreError> {
        let (entries, oldest): (i64, Option<i64>) =
            sqlx::query_as(sql::HISTORY_EXTENT).fetch_one(self.connection()).await?;
        let cutoff = i64::try_from(now.0.saturating_sub(keep.age)).unwrap_or(i64::MAX);
        let excess = (entries - keep.rows).clamp(0, TRIM_STEP);
        let is_old = oldest.is_some_and(|at| at < cutoff);
        if excess == 0 && !is_old {
            return Ok(0);
        }
        let (step, before) = if excess > 0 { (excess, i64::MAX) } else { (TRIM_STEP, cutoff) };
        let gone = sqlx::query(sql::TRIM_HISTORY).bind(step).bind(before).fetch_all(self.connection()).await?;
        let newest = gone.iter().filter_map(|row| row.try_get::<i64, _>(0).ok()).max().unwrap_or(0);
        let count = i64::try_from(gone.len()).unwrap_or(0);
        sqlx::query(sql::NOTE_TRIMMED).bind(count).bind(newest).execute(self.connection()).await?;
        Ok(gone.len() as u64)
    }
}

impl Reader {
    /// The newest revision of which history is missing; 0 if all is there.
    pub async fn trimmed(&self) -> Result<u64, StoreError> {
        let (mut view, _) = self.view().await?;
        let trimmed: i64 = sqlx::query_scalar(sql::HISTORY_TRIMMED).fetch_one(&mut *view).await?;
        Ok(u64::try_from(trimmed).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_rows_go_in_steps_and_those_within_the_limits_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::open(&folder.path().join("t.db")).await.expect("a store");
        writer.begin().await.expect("a transaction");
        let fill = "
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2500)
            INSERT INTO change SELECT x, 1, x, '', '', '', '', '', '', '', NULL, NULL FROM n";
        sqlx::query(fill).execute(writer.connection()).await.expect("rows");
        count(writer.connection(), 2_500).await.expect("a count");
        let keep = Keep { rows: 1_200, age: 1_000 };
        let now = Moment(2_500);
        let mut steps = Vec::new();
        loop {
            match writer.trim(now, keep).await.expect("a step") {
                0 => break,
                gone => steps.push(gone),
            }
        }
        assert_eq!(steps, [1_000, 300, 199], "over the number of rows, then those made before 1,500");
        let left: (i64, i64) = sqlx::query_as("SELECT count(*), min(revision) FROM change")
            .fetch_one(writer.connection())
            .await
            .expect("rows");
        let noted: (i64, i64) =
            sqlx::query_as("SELECT entries, trimmed FROM history").fetch_one(writer.connection()).await.expect("a row");
        assert_eq!((left, noted), ((1_001, 1_500), (1_001, 1_499)));
    }
}
