//! Output forms: tables that fit the terminal, JSON as the API gives it, or names alone.

use crate::telemetry::note;
use std::io::{self, Write};

use clap::ValueEnum;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;

use super::failure::Failure;

/// Widest column that is never broken, in characters: that of a time.
const UNBROKEN: u16 = 20;

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Columns for people.
    #[default]
    Table,
    /// The API's document.
    Json,
    /// One name a line.
    Name,
}

/// Writes to stdout.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    write_to(&mut io::stdout().lock(), text)
}

fn write_to(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::failed(format!("the output could not be written: {error}")),
    })
}

/// Writes a document as indented JSON.
pub(super) fn print_json<T: Serialize>(document: &T) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(document)
        .map_err(|error| Failure::failed(format!("the output could not be written as JSON: {error}")))?;
    text.push('\n');
    print(&text)
}

/// Writes names, one a line.
pub(super) fn print_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let mut text = String::new();
    for name in names {
        text.push_str(name);
        text.push('\n');
    }
    print(&text)
}

/// Writes rows under headings. Without rows nothing goes to stdout, and stderr says `nothing`.
pub(super) fn print_table(headings: &[&str], rows: Vec<Vec<String>>, nothing: &str) -> Result<(), Failure> {
    if rows.is_empty() {
        note!("{nothing}");
        return Ok(());
    }
    print(&table(headings, rows, None))
}

/// Rows under headings, as wide as the terminal at most; `width` is for tests.
pub(super) fn table(headings: &[&str], rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width {
        table.set_width(width);
    }
    table.set_header(headings.to_vec());
    for row in rows {
        table.add_row(row.iter().map(|cell| clean(cell)).collect::<Vec<String>>());
    }
    let widths = table.column_max_content_widths();
    for (column, width) in table.column_iter_mut().zip(widths) {
        column.set_padding((0, 2));
        // Times, types, states and numbers are not broken; names and values make room for them.
        if width <= UNBROKEN {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Text for a terminal: what others wrote into labels, kinds and names cannot move its cursor or colour it.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\n' {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// Keys and values, one pair a line; empty values are left out.
pub(super) fn print_pairs(pairs: &[(&str, String)]) -> Result<(), Failure> {
    print(&pairs_text(pairs))
}

fn pairs_text(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(key, _)| key.len()).max().unwrap_or_default() + 2;
    let mut text = String::new();
    for (key, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        for (at, line) in clean(value).lines().enumerate() {
            let key = if at == 0 { *key } else { "" };
            text.push_str(&format!("{key:width$}{line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_columns_without_borders_and_no_blanks_at_line_ends() {
        let rows = vec![
            vec!["example.com.".to_owned(), "12".to_owned(), String::new()],
            vec!["a.example.".to_owned(), "3".to_owned(), "x".to_owned()],
        ];
        let text = table(&["NAME", "RECORDS", "NOTE"], rows, Some(80));
        assert_eq!(text, "NAME          RECORDS  NOTE\nexample.com.  12\na.example.    3        x\n");
    }

    #[test]
    fn a_table_wraps_at_the_width_of_the_terminal() {
        let rows = vec![vec!["www.example.com.".to_owned(), "long text ".repeat(20)]];
        let text = table(&["NAME", "TEXT"], rows, Some(60));
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn pairs_align_and_leave_out_what_is_empty() {
        let pairs = [("name", "a".to_owned()), ("owner id", "b\nc".to_owned()), ("kind", String::new())];
        assert_eq!(pairs_text(&pairs), "name      a\nowner id  b\n          c\n");
    }

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        assert_eq!(pairs_text(&[("kind", "\u{1b}[2Ja\u{9b}b\rc".to_owned())]), "kind  \\u{1b}[2Ja\\u{9b}b\\u{d}c\n");
        assert_eq!(table(&["A"], vec![vec!["\u{7}".to_owned()]], None), "A\n\\u{7}\n");
    }

    #[test]
    fn a_reader_that_is_gone_ends_the_program_quietly() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let failure = write_to(&mut Gone, "text").expect_err("nobody reads");
        assert_eq!(failure.exit_code(), 0);
    }
}
