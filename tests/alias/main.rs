//! ALIAS: timelines of the engine on a manual clock, what the resolver makes of scripted servers, and the two together.

mod actor;
mod pace;
mod properties;
mod timeline;
mod timelines;
#[path = "../support/upstream.rs"]
mod upstream;
mod upstreams;
