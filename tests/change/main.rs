//! The change flow from command to published Snapshot, over a real store (ownership.md sections 2 and 7).

mod dangling;
mod guarantees;
mod holds;
mod keys;
mod leases;
mod letting_go;
mod limits;
mod loading;
mod model;
mod properties;
mod quarantine;
mod steps;
mod store;
mod support;
mod sweeps;
mod targets;
mod tokens;
mod transfers;
mod types;
mod zones;
