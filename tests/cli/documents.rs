//! The documentation: links lead somewhere, and commands are commands of this program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The README, and all pages below `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("benches/README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// What the hosting sites make of a heading: lower case, spaces as hyphens, no other punctuation.
fn anchor(heading: &str) -> String {
    let plain = heading.trim().to_lowercase();
    let kept = plain.chars().filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
    kept.map(|one| if one == ' ' { '-' } else { one }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Targets of links, without those of code.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            links.extend(line.split("](").skip(1).filter_map(|rest| rest.split(')').next().map(str::to_owned)));
        }
    }
    links
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let mut checked = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').map_or((link.as_str(), None), |(path, part)| (path, Some(part)));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name("").join(path) };
            assert!(target.exists(), "{}: {link} is not there", page.display());
            if let Some(heading) = heading {
                let there = fs::read_to_string(&target).expect("a page");
                assert!(anchors(&there).contains(heading), "{}: {link} has no such heading", page.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links");
}

/// Commands of this program in blocks for a shell, a line each, without what the shell does with them.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_shell = false;
    let mut in_document = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            in_shell = matches!(language, "sh" | "bash" | "console");
            in_document = false;
        } else if in_shell {
            if in_document {
                in_document = !matches!(line, "YAML" | "EOF" | "TOML" | "JSON");
                continue;
            }
            in_document = line.contains("<<'");
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let line = line.strip_prefix("./").unwrap_or(line);
            if line.starts_with("tenured ") && !line.ends_with('\\') {
                found.push(line.to_owned());
            }
        }
    }
    found
}

/// Words as a shell would have them, up to a comment, a pipe, a redirection or the next command.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for one in line.chars() {
        match (quote, one) {
            (Some(open), _) if one == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(one),
            (None, '"' | '\'') => {
                quote = Some(one);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | '<' | ';' | '&') => break,
            (None, _) => word.get_or_insert_default().push(one),
        }
    }
    words.extend(word);
    words
}

#[test]
fn commands_of_the_documentation_are_commands_of_this_program() {
    let mut checked = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for line in commands(&text) {
            let arguments = words(&line);
            // Help comes before anything is done, and after what stands before it has been understood.
            let output = Command::new(env!("CARGO_BIN_EXE_tenured"))
                .args(&arguments[1..])
                .arg("--help")
                .output()
                .expect("the program runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {line}\n{said}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} commands");
}
