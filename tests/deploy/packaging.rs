//! Files of packages name keys and commands that there are.

use std::process::Command;

use super::server::tenured;
use super::{path, text};

/// Words behind the program in a file, up to the end of the line.
fn commands(text: &str, program: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter_map(|line| line.split_once(program));
    lines.map(|(_, rest)| rest.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect()).collect()
}

#[test]
fn the_units_run_commands_that_the_program_has() {
    let unit = text("deploy/systemd/tenured.service");
    let all = commands(&unit, "=/usr/bin/tenured ");
    assert_eq!(all.len(), 2, "{unit}");
    let folder = tempfile::tempdir().expect("a folder");
    for words in all {
        // With a file that is there instead of the installed one; `--help` ends what would run for long.
        let words =
            words.iter().map(|word| word.replace("/etc/tenured", &path("deploy/systemd").display().to_string()));
        let arguments: Vec<String> = words.chain(["--help".to_owned()]).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = tenured(folder.path(), &arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(unit.contains("Type=notify") && unit.contains("DynamicUser=yes"));
}

#[test]
fn the_packaged_configuration_is_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path("deploy/systemd/tenured.toml").display().to_string();
    let output = tenured(folder.path(), &["--config", &file, "config", "check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_image_runs_what_the_program_has_and_shows_its_ports() {
    let text = text("Dockerfile");
    for line in ["USER 5353", "EXPOSE 53/udp 53/tcp 8053", "HEALTHCHECK", "ENTRYPOINT [\"tenured\"]", "VOLUME"] {
        assert!(text.contains(line), "{line}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let command = text.lines().find_map(|line| line.strip_prefix("CMD ")).expect("a command");
    let words: Vec<String> = serde_json::from_str(command).expect("a list");
    let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    assert!(tenured(folder.path(), &arguments).status.success(), "{arguments:?}");
    let copied = text.lines().filter_map(|line| line.strip_prefix("COPY ")).filter(|line| !line.starts_with("--from"));
    for from in copied.flat_map(|line| line.split_whitespace().rev().skip(1).map(str::to_owned).collect::<Vec<_>>()) {
        assert!(path(&from).exists(), "the image copies {from}");
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(tenured(folder.path(), &["manual", "man"]).status.success());
    let help = tenured(folder.path(), &["--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(names.len() > 20, "{help}");
    for name in names {
        let page = folder.path().join(format!("man/tenured-{name}.1"));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
    }
}

#[test]
fn the_script_of_the_package_is_sound() {
    let status = Command::new("bash").arg("-n").arg(path("deploy/debian/build")).status().expect("bash runs");
    assert!(status.success());
}
