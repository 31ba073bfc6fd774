//! Options of an ALIAS claim (alias.md section 1): those that this version acts upon.

use serde::{Deserialize, Serialize};

/// What stands beside an ALIAS of the same owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StaticMode {
    /// A and AAAA of an enabled family are refused.
    #[default]
    Reject,
    /// A static RRset replaces the ALIAS for its family.
    Override,
}

/// Options of an ALIAS; the default is both families and `static: reject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AliasOptions {
    /// Whether A is flattened.
    pub a: bool,
    /// Whether AAAA is flattened.
    pub aaaa: bool,
    /// What stands beside it.
    #[serde(rename = "static")]
    pub static_mode: StaticMode,
}

impl Default for AliasOptions {
    fn default() -> AliasOptions {
        AliasOptions { a: true, aaaa: true, static_mode: StaticMode::Reject }
    }
}
