//! The command line as a process: what it prints where, and its exit codes.

mod config;
mod diff;
mod documents;
mod files;
mod findings;
mod history;
mod migrate;
mod writes;

#[path = "../support/service.rs"]
#[allow(dead_code, reason = "the tests of the API use more of it")]
mod service;

use std::path::Path;
use std::process::{Command, Stdio};

use service::Service;

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the binary in a folder with an environment that says nothing but `variables`.
pub(crate) fn run(folder: &Path, variables: &[(&str, &str)], arguments: &[&str], input: &str) -> Ran {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_tenured"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // A command that reads no input may be gone already.
    let _ = child.stdin.take().expect("stdin is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("its end");
    Ran {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs a command in the folder of a service, so that it finds the token by itself.
pub(crate) fn ask(service: &Service, arguments: &[&str]) -> Ran {
    ask_with(service, arguments, "")
}

/// As [`ask`], with an input.
pub(crate) fn ask_with(service: &Service, arguments: &[&str], input: &str) -> Ran {
    let url = format!("http://{}", service.http);
    run(service.folder.path(), &[("TENURED_URL", &url)], arguments, input)
}
