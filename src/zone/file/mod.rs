//! Zone files (RFC 1035 section 5): reading and writing. Pure: text in, text out; what `$INCLUDE`
//! names is asked of the caller.

mod data;
mod fields;
mod gather;
mod generate;
mod include;
mod lines;
mod reader;
mod write;

use std::fmt;

use super::node::RRset;
use crate::wire::name::Name;

pub use include::{Include, Included, MAX_INCLUDE_DEPTH, MAX_INCLUDED_FILES, NoInclude};
pub use write::{AliasForm, WriteOptions, write, write_file};

/// Most errors that a reading reports (answers.md F5).
pub const MAX_ERRORS: usize = 100;
/// Most warnings that a reading reports; one more tells how many there would be.
pub const MAX_WARNINGS: usize = 1_000;

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

/// Reads a zone file (answers.md F1-F8).
///
/// `file` is how findings name it. `origin` completes relative names until the file says `$ORIGIN`; the apex is where
/// the SOA stands, wherever that is. Included files are asked of `include`; [`NoInclude`] refuses them. Errors are the
/// first [`MAX_ERRORS`] by file and line, and then nothing of the file is to be used.
pub fn read(
    text: &[u8],
    file: &str,
    origin: Option<&Name>,
    include: &mut dyn Include,
) -> Result<ZoneFile, Vec<Finding>> {
    gather::zone(reader::read(text, file, origin, include))
}
