//! Pages of lists: `limit` and `continue` of a request, and the document of a page (ownership.md section 4).

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::call::{Call, document};
use super::problem::Refused;
use crate::store::paging::{Cursor, Page};

/// Most rows of a page.
pub const MAX_LIMIT: u32 = 5_000;
/// Rows of a page if the caller does not say how many.
pub const DEFAULT_LIMIT: u32 = 1_000;

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PageDocument<T> {
    /// The revision at which the rows were read.
    pub revision: u64,
    /// The rows.
    pub items: Vec<T>,
    /// What `continue` of the request for the next page is; absent on the last one.
    #[serde(rename = "continue", default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// `limit`.
pub fn limit(call: &Call) -> Result<u32, Refused> {
    let Some(limit) = call.parameters.number("limit")? else { return Ok(DEFAULT_LIMIT) };
    u32::try_from(limit)
        .ok()
        .filter(|limit| (1..=MAX_LIMIT).contains(limit))
        .ok_or_else(|| Refused::bad_request(format!("limit is from 1 to {MAX_LIMIT}, not {limit}")))
}

/// The page that a request asks for.
pub fn page<C: Cursor>(call: &Call) -> Result<Page<C>, Refused> {
    let after = call.parameters.text("continue").map(|text| {
        read(text).ok_or_else(|| {
            Refused::bad_request("continue is what the page before gave for this list: leave it out to begin anew")
        })
    });
    Ok(Page { limit: limit(call)?, after: after.transpose()? })
}

/// A 200 with a page.
pub fn shown<T: Serialize, C: Cursor>(revision: u64, items: Vec<T>, next: Option<C>) -> Result<Response, Refused> {
    document(StatusCode::OK, &PageDocument { revision, items, next: next.as_ref().map(text) })
}

/// A cursor as the caller gets it: opaque, and safe in a URL.
pub fn text<C: Cursor>(cursor: &C) -> String {
    let mut parts = vec![C::LIST.to_owned()];
    parts.extend(cursor.parts());
    let json = serde_json::Value::from(parts).to_string();
    json.bytes().map(|octet| format!("{octet:02x}")).collect()
}

fn read<C: Cursor>(text: &str) -> Option<C> {
    let octet = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let octets: Vec<u8> = (0..text.len()).step_by(2).map(octet).collect::<Option<_>>()?;
    let parts: Vec<String> = serde_json::from_slice(&octets).ok()?;
    let (list, parts) = parts.split_first()?;
    (list == C::LIST).then(|| C::read(parts)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::paging::{ChangeCursor, ClaimCursor};

    #[test]
    fn a_cursor_comes_back_as_it_was_and_only_to_its_list() {
        let cursor = ChangeCursor { revision: 7, item: 3 };
        assert_eq!(read::<ChangeCursor>(&text(&cursor)), Some(cursor));
        assert_eq!(read::<ClaimCursor>(&text(&cursor)), None);
        for bad in ["", "0", "zz", "5b5d", "é"] {
            assert_eq!(read::<ChangeCursor>(bad), None, "{bad}");
        }
    }
}
