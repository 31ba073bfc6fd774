//! Owners and claims: what is asked (commands), what is decided (plans), and the rules between. Pure.

pub mod actor;
pub mod alias_options;
pub mod claim;
pub mod code;
pub mod command;
mod draft;
mod entitlement;
pub mod flaps;
pub mod fresh;
pub mod hold;
mod import;
pub mod lease;
mod letting_go;
pub mod limits;
pub mod owner;
mod owning;
pub mod plan;
pub mod quarantine;
pub mod report;
mod rules;
pub mod scope;
mod tokens;
mod transfer;
pub mod wish;
mod write;
pub mod zone;
pub mod zones;
