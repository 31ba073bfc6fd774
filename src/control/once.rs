//! Requests that are done once, however often they are sent: an `Idempotency-Key` of a token stands for one request,
//! and its response is committed with what the request did (ownership.md section 3). After a crash either both are there
//! or neither is.
//!
//! Kept is the response of what was done, a `207` and a request that found nothing to do included. What was refused left
//! nothing behind, and so does its key: the same request may be tried again and come to something else. A dry run neither
//! looks for a key nor keeps one.

use std::fmt;
use std::sync::Arc;

use crate::ledger::code::Code;
use crate::ledger::report::{Refusal, Report};
pub use crate::store::once::Kept;

/// Longest key, in octets.
pub const MAX_KEY: usize = 255;
/// Largest response that is kept, in octets; a request whose response would be larger is refused with its key.
pub const MAX_RESPONSE: usize = 8 * 1024 * 1024;

/// Makes the response of a report: its status and body.
pub type Shape = Arc<dyn Fn(&Report) -> Option<(u16, Vec<u8>)> + Send + Sync>;

/// A key with what it stands for.
#[derive(Clone)]
pub struct Once {
    /// The key; it counts for the token that asks.
    pub key: String,
    /// SHA-256 of the request.
    pub print: [u8; 32],
    /// What is kept for a repeat.
    pub shape: Shape,
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Once {
    /// The response to keep, or why there is none.
    pub(super) fn response(&self, report: &Report) -> Result<Kept, Refusal> {
        match (self.shape)(report) {
            Some((status, body)) if body.len() <= MAX_RESPONSE => Ok(Kept { print: self.print, status, body }),
            Some(_) | None => {
                let detail = "the response would be too large to be kept for a repeat: \
                              leave Idempotency-Key out, or ask for less at once";
                Err(Refusal::new(Code::LimitExceeded, detail))
            }
        }
    }
}

/// For a key that was used already. Whoever repeated the same request finds its response in the store.
pub fn mismatch() -> Refusal {
    let detail = "this Idempotency-Key was used for another request within 24 hours: every request needs its own";
    Refusal::new(Code::IdempotencyMismatch, detail)
}
