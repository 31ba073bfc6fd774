//! What the start reads: many claims at a time is the same as one by one, whatever the store holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenured::control::load;
use tenured::store::Writer;
use tenured::store::load::{Alarms, Reading};
use tenured::wire::name::HashKey;
use tenured::zone::content::Zone;
use tenured::zone::snapshot::Snapshot;

use crate::store::outside::Sql;
use crate::support::Server;

/// Everything in a Snapshot, in one order.
fn content(snapshot: &Snapshot) -> BTreeMap<String, Vec<String>> {
    let zone = |zone: &Arc<Zone>| {
        let mut lines: Vec<String> = zone.nodes().map(|node| format!("{node:?}")).collect();
        lines.sort();
        lines.push(format!("{} records, {} ALIAS, owner {}", zone.record_count(), zone.aliases().len(), zone.owner()));
        (zone.apex().to_string(), lines)
    };
    snapshot.zones().map(zone).collect()
}

/// 5,000 claims at about 2,000 names of the first two zones and, one in `broken`, claims that cannot be used. Names have
/// one to three labels, `*` and octets that are escaped among them. An SOA among them is malformed.
fn claims(seed: u32, broken: u32) -> &'static str {
    let text = format!(
        "WITH RECURSIVE n (i, r) AS (SELECT 1, {seed} UNION ALL
            SELECT i + 1, (r * 1103515245 + 12345) & 2147483647 FROM n WHERE i < 5000),
        m AS (SELECT i, r >> 4 AS a, (r >> 9) & 1023 AS b, (r >> 13) & 255 AS c, (r >> 7) & 15 AS t FROM n),
        k AS (SELECT *, CASE t WHEN 0 THEN 5 WHEN 1 THEN 2 WHEN 2 THEN 39 WHEN 3 THEN 65401 WHEN 4 THEN 28 WHEN 5 THEN 16
                WHEN 6 THEN 6 ELSE 1 END AS rtype,
            i % {broken} = 0 AS is_broken FROM m)
        INSERT OR IGNORE INTO claim SELECT
            CASE WHEN is_broken AND a % 7 = 0 THEN 99 ELSE 1 + (a & 1) END,
            CASE WHEN is_broken AND a % 7 = 1 THEN x'01' WHEN b % 50 = 0 THEN x'' ELSE
                CAST('h' || (b % 600) || char(0) ||
                    CASE c % 5 WHEN 0 THEN '*' || char(0) WHEN 1 THEN 'x' || char(1) || char(1 + (c & 1)) || char(0)
                        WHEN 2 THEN 'sub' || char(0) || 'y' || c || char(0) ELSE '' END AS BLOB) END,
            rtype,
            CASE WHEN is_broken AND a % 7 = 2 THEN 77 ELSE 1 + (c & 1) END,
            CASE WHEN c % 9 = 0 THEN 'b' ELSE '' END,
            60 + (a & 7),
            CASE WHEN is_broken AND a % 7 = 3 THEN x'0400c000' WHEN is_broken AND a % 7 = 4 THEN x''
                WHEN rtype = 1 AND c % 3 = 0 THEN x'0400c00002010400c0000202' WHEN rtype = 1 THEN x'0400c0000201'
                WHEN rtype = 28 THEN x'100020010db8000000000000000000000001' WHEN rtype = 16 THEN x'0300024142'
                WHEN rtype = 6 THEN x'0100ff' ELSE x'0500036e733100' END,
            CASE WHEN rtype <> 65401 THEN NULL WHEN is_broken AND a % 7 = 5 THEN '{{' WHEN c & 4 THEN NULL
                ELSE '{{}}' END,
            0, NULL,
            CASE WHEN is_broken AND a % 7 = 6 THEN 'frozen' WHEN c % 11 = 0 THEN 'queued' ELSE 'held' END,
            0, 0, 0, 0 FROM k"
    );
    Box::leak(text.into_boxed_str())
}

#[tokio::test]
async fn claims_read_many_at_a_time_are_served_as_claims_read_one_by_one() {
    for (seed, broken) in [(1, 6_000), (2, 6_000), (3, 700), (4, 50), (5, 3)] {
        let server = Server::with_zone().await;
        server.create_zone("example.net.").await;
        server.apply("web", &["www.example.com. A 192.0.2.1", "www.example.net. ALIAS www.example.com."]).await;
        let database = server.database();
        let (_directory, _clock) = server.stop().await;
        let mut sql = Sql::open(&database).await;
        sql.run(claims(seed, broken)).await;
        if broken > 5_000 {
            sql.run("DELETE FROM claim WHERE rtype = 6 AND length(data) < 9").await;
        }
        sql.close().await;
        let mut writer = Writer::open(&database).await.expect("the store");
        let mut read = Vec::new();
        for reading in [Reading::Paged, Reading::RowByRow] {
            let mut alarms = Alarms::default();
            let key = HashKey::new(5, 17);
            let snapshot = load::load(&mut writer, key, &Default::default(), reading, &mut alarms)
                .await
                .expect("a store that is read");
            read.push((content(&snapshot), alarms));
        }
        let records: u64 = read[0].0.values().map(|lines| lines.len() as u64).sum();
        assert!(records > 700, "{records} names of seed {seed}");
        assert_eq!(read[0], read[1], "seed {seed}");
        writer.close().await.expect("closing");
    }
}
