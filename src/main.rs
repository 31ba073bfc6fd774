//! The binary: hands over to the command line.

fn main() {}
