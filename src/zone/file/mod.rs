//! Zone files (RFC 1035 section 5): reading and writing. Pure: text in, text out; what `$INCLUDE` names is asked of the caller.

use std::fmt;

use super::node::RRset;
use crate::wire::name::Name;

/// Most errors that a reading reports (answers.md F5).
pub const MAX_ERRORS: usize = 100;

/// A zone as a file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneFile {
    /// The apex: where the SOA stands.
    pub origin: Name,
    /// RRsets in canonical order of names, then by type; the TTL of each is its lowest, no record twice. The RDATA of
    /// an ALIAS is its target alone in wire form.
    pub rrsets: Vec<(Name, RRset)>,
    /// What is odd and was loaded, or was left out (answers.md F7, F8).
    pub warnings: Vec<Finding>,
}

/// An error or a warning with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file as the caller named it.
    pub file: String,
    /// Line, from 1; of several the first.
    pub line: usize,
    /// One sentence: what is wrong and what was expected.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
