//! tenured
pub mod wire;
pub mod zone;
