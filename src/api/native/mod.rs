//! The native API: one resource per file, and the table of all routes (ownership.md sections 3 to 5).

mod alias_dry_run;
mod alias_measures;
mod alias_options;
mod aliases;
mod changes;
mod config;
mod conflicts;
mod door_terms;
mod explain;
mod externaldns;
mod fields;
mod flaps;
mod follow;
mod health;
mod holds;
mod leases;
mod metrics;
mod openapi;
mod orphans;
mod owners;
mod propagation;
mod records;
mod revert;
mod sweeps;
mod target_check;
mod tokens;
mod transfers;
mod write;
mod zonefile;
mod zones;

use super::call::Route;
use super::problem::Refused;
use crate::ledger::code::Code;

pub use alias_measures::RecordStates;
pub use openapi::text as openapi_text;

/// Most rows of a list.
pub const MAX_ROWS: usize = 100_000;

/// All routes.
pub fn routes() -> Vec<Route> {
    [
        health::routes(),
        metrics::routes(),
        openapi::routes(),
        zones::routes(),
        zonefile::routes(),
        records::routes(),
        write::routes(),
        owners::routes(),
        changes::routes(),
        revert::routes(),
        flaps::routes(),
        conflicts::routes(),
        orphans::routes(),
        propagation::routes(),
        explain::routes(),
        tokens::routes(),
        config::routes(),
        aliases::routes(),
        alias_dry_run::routes(),
        transfers::routes(),
        holds::routes(),
        externaldns::routes(),
        leases::routes(),
        sweeps::routes(),
    ]
    .concat()
}

/// Whether a path belongs to the listener of health and metrics, if there is one.
pub fn is_admin(path: &str) -> bool {
    health::routes().iter().chain(&metrics::routes()).any(|route| route.path == path)
}

/// Refuses a list that is too long to be given whole.
fn check_rows(rows: usize, narrow: &str) -> Result<(), Refused> {
    if rows > MAX_ROWS {
        let detail = format!("this list has {rows} rows, over the {MAX_ROWS} of one answer: narrow it with {narrow}");
        return Err(Refused::new(Code::LimitExceeded, detail));
    }
    Ok(())
}
