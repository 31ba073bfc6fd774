//! Files of packages name keys and commands that there are.
