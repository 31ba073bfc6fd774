//! Owners and claims: what is asked (commands), what is decided (plans), and the rules between. Pure.

pub mod actor;
pub mod alias_options;
pub mod claim;
pub mod code;
pub mod command;
pub mod limits;
pub mod owner;
pub mod report;
pub mod wish;
pub mod zone;
