//! tenured: an authoritative DNS server in which every record has an owner.
//!
//! This file is the map; `docs/ARCHITECTURE.md` walks through the three flows, and `tests/tidy.rs` keeps the rooms apart.
//!
//! ```text
//! QUERY   net → wire → answer → zone → answer → wire → net
//! CHANGE  api → control → ledger → control (assemble) → zone (check) → store → publish
//! ALIAS   Snapshot → alias → control → publish
//! ```

// Pure: no sockets, SQL, clock, environment, files or chance.
pub mod answer;
pub mod ledger;
pub mod wire;
pub mod zone;

// State: actors and the database.
pub mod alias;
pub mod clock;
pub mod control;
pub mod store;

// Edges: thin.
pub mod api;
pub mod cli;
pub mod net;

// Wiring.
pub mod app;
pub mod config;
pub mod telemetry;
