//! The limits of owners, claims and commands (reliability.md section 4).

/// Longest owner id, in octets of UTF-8.
pub const MAX_OWNER_ID: usize = 512;
/// Most labels of an owner, a claim or a source.
pub const MAX_LABELS: usize = 64;
/// Longest key, value, kind, uid or set id, in octets; not in the table of limits, but every text has one.
pub const MAX_TEXT: usize = 512;
/// Most owners from one to the top of its tree, both counted.
pub const MAX_DEPTH: usize = 32;
/// Most records in one apply or change.
pub const MAX_RECORDS: usize = 100_000;
/// Most claims of one RRset, queued ones included.
pub const MAX_CLAIMS: usize = 1_000;
/// Most zones of a server.
pub const MAX_ZONES: u64 = 1_000_000;
/// Largest TTL in seconds (RFC 2181 section 8).
pub const MAX_TTL: u32 = 0x7fff_ffff;
/// Most claims that the deletion of a zone lists, and most of `zone:<zone>` that it writes into the history one by one; of
/// more it tells the number.
pub const MAX_LISTED: usize = 10_000;
/// Largest generation and epoch: the store has no larger numbers.
pub const MAX_COUNTER: u64 = i64::MAX as u64;
/// Most claims below a new zone cut or DNAME that are read to see whether they stand in its way.
pub const MAX_BELOW: usize = 10_000;
