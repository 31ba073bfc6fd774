//! What a migration did, for people and as JSON: zones, what could not be taken and why, and how answers compare.

use serde::Serialize;

use super::super::failure::Failure;
use super::super::output::{self, Format};
use super::Taken;
use super::compare::Comparison;
use crate::telemetry::note;
use crate::wire::name::Name;

/// Most findings and differences that a table shows; JSON has all.
const MAX_SHOWN: usize = 200;

/// What became of something that the source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum What {
    /// The source serves it, and this server does not.
    LeftOut,
    /// This server refused it.
    Refused,
    /// It is served otherwise than there.
    Changed,
    /// The source does not serve it either: comments, disabled records, metadata, signatures.
    NotTaken,
    /// It is served as there, and is odd.
    Odd,
}

impl What {
    fn text(self) -> &'static str {
        match self {
            What::LeftOut => "left out",
            What::Refused => "refused",
            What::Changed => "changed",
            What::NotTaken => "not taken",
            What::Odd => "odd",
        }
    }
}

/// One thing that is not here as it was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The apex of its zone.
    pub(super) zone: String,
    /// The name.
    pub(super) name: String,
    /// The type as the source names it; empty if it is about the whole zone.
    #[serde(rename = "type")]
    pub(super) rtype: String,
    /// What became of it.
    pub(super) what: What,
    /// Why, in a sentence.
    pub(super) reason: String,
}

impl Finding {
    /// About an RRset.
    pub(super) fn of(zone: &Name, name: &str, rtype: &str, what: What, reason: String) -> Finding {
        Finding { zone: zone.to_string(), name: name.to_owned(), rtype: rtype.to_owned(), what, reason }
    }

    /// About a zone.
    pub(super) fn of_zone(zone: &Name, what: What, reason: String) -> Finding {
        Finding::of(zone, &zone.to_string(), "", what, reason)
    }
}

/// What became of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Outcome {
    /// It is new here.
    Created,
    /// It was here, and something of it changed.
    Updated,
    /// All of it was here.
    Unchanged,
    /// Nothing of it was taken.
    LeftOut,
}

impl Outcome {
    fn text(self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Updated => "updated",
            Outcome::Unchanged => "unchanged",
            Outcome::LeftOut => "left out",
        }
    }
}

/// A zone of the source.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// The apex.
    pub(super) zone: String,
    /// Where it came from.
    pub(super) source: String,
    /// Records to write.
    pub(super) records: usize,
    /// What became of it.
    pub(super) outcome: Outcome,
}

/// All of a run.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Migration {
    /// Whether nothing was done.
    pub(super) dry_run: bool,
    /// The zones.
    #[serde(rename = "zones")]
    pub(super) rows: Vec<Row>,
    /// What is not here as it was there.
    pub(super) findings: Vec<Finding>,
    /// How answers compare; none if they were not compared.
    pub(super) comparison: Option<Comparison>,
    /// The zones as they were written.
    #[serde(skip)]
    pub(super) zones: Vec<Taken>,
    /// The apexes of zones that were not.
    #[serde(skip)]
    pub(super) left_out: Vec<Name>,
}

impl Migration {
    /// Notes that nothing of a zone is taken.
    pub(super) fn leave_out_zone(&mut self, zone: &Name, source: String, reason: &str) {
        self.findings.push(Finding::of_zone(zone, What::LeftOut, reason.to_owned()));
        self.rows.push(Row { zone: zone.to_string(), source, records: 0, outcome: Outcome::LeftOut });
        self.left_out.push(zone.clone());
    }

    /// Prints it. An unexplained difference is exit code 1, and a part that the source serves and this server does not is 4.
    pub(super) fn print(&self, format: Format) -> Result<(), Failure> {
        match format {
            Format::Json => output::print_json(self)?,
            Format::Name => output::print_names(
                self.rows.iter().filter(|row| row.outcome != Outcome::LeftOut).map(|row| row.zone.as_str()),
            )?,
            Format::Table => self.print_tables()?,
        }
        note!("{}", self.sentence());
        match &self.comparison {
            Some(comparison) => {
                note!("{}", comparison.sentence());
                if comparison.unexplained > 0 {
                    return Err(Failure::Differs);
                }
            }
            None => note!("answers were not compared"),
        }
        let lost = |finding: &Finding| matches!(finding.what, What::LeftOut | What::Refused);
        if self.findings.iter().any(lost) { Err(Failure::Partly) } else { Ok(()) }
    }

    fn print_tables(&self) -> Result<(), Failure> {
        let zone = |row: &Row| {
            vec![row.zone.clone(), row.records.to_string(), row.outcome.text().to_owned(), row.source.clone()]
        };
        let rows = self.rows.iter().map(zone).collect();
        output::print_table(&["ZONE", "RECORDS", "OUTCOME", "FROM"], rows, "the source has no zones")?;
        let finding = |finding: &Finding| {
            let Finding { name, rtype, what, reason, .. } = finding;
            vec![name.clone(), rtype.clone(), what.text().to_owned(), reason.clone()]
        };
        print_some(&["NAME", "TYPE", "WHAT", "WHY"], self.findings.iter().map(finding))?;
        let Some(comparison) = &self.comparison else { return Ok(()) };
        let rows = comparison.differences.iter().map(|difference| {
            let reason = difference.reason.clone().unwrap_or_else(|| "UNEXPLAINED".to_owned());
            vec![
                difference.name.clone(),
                difference.rtype.clone(),
                difference.old.clone(),
                difference.new.clone(),
                reason,
            ]
        });
        print_some(&["NAME", "TYPE", "OLD ANSWER", "NEW ANSWER", "WHY"], rows)
    }

    fn sentence(&self) -> String {
        let count = |outcome| self.rows.iter().filter(|row| row.outcome == outcome).count();
        let records: usize = self.rows.iter().map(|row| row.records).sum();
        let found = |what| self.findings.iter().filter(|finding| finding.what == what).count();
        let parts = [
            (count(Outcome::Created), "created"),
            (count(Outcome::Updated), "updated"),
            (count(Outcome::Unchanged), "unchanged"),
            (count(Outcome::LeftOut), "left out"),
        ];
        let told: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let dry = if self.dry_run { "dry run, nothing was done: " } else { "" };
        format!(
            "{dry}{} zones ({}), {records} records; of the rest {} left out, {} refused, {} changed, {} not taken",
            self.rows.len(),
            told.join(", "),
            found(What::LeftOut),
            found(What::Refused),
            found(What::Changed),
            found(What::NotTaken)
        )
    }
}

/// A table of the first rows, and a line about the others.
fn print_some(headings: &[&str], rows: impl ExactSizeIterator<Item = Vec<String>>) -> Result<(), Failure> {
    let all = rows.len();
    if all == 0 {
        return Ok(());
    }
    output::print("\n")?;
    output::print(&output::table(headings, rows.take(MAX_SHOWN).collect(), None))?;
    if all > MAX_SHOWN {
        note!("… and {} more: -o json shows all", all - MAX_SHOWN);
    }
    Ok(())
}
