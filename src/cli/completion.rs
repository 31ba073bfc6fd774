//! `tenured completion`: scripts by which a shell completes commands and flags, made of the same definition as the help.

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell as Generator;

use super::Arguments;
use super::failure::Failure;
use super::output;

/// Shells that there are scripts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    /// source <(tenured completion bash)
    Bash,
    /// source <(tenured completion zsh), after compinit
    Zsh,
    /// tenured completion fish | source
    Fish,
}

pub(super) fn run(shell: Shell) -> Result<(), Failure> {
    let generator = match shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(generator, &mut Arguments::command(), "tenured", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
