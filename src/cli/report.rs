//! What came of a write, for people: a table of what changed, and in words what was refused and by whom.

use reqwest::StatusCode;

use super::failure::{Failure, WAITING, Waiting, advice, holder_text, is_of_holder};
use super::output::{self, Format};
use crate::api::documents::{DeletedDocument, ItemDocument, ReportDocument, SummaryDocument};
use crate::api::findings::DanglingDocument;
use crate::telemetry::note;

/// Most refused items that are explained one by one.
const MAX_EXPLAINED: usize = 20;

/// Prints the report of a write; a part that was refused is a failure.
pub(super) fn print(status: StatusCode, report: &ReportDocument, format: Format) -> Result<(), Failure> {
    let changed = || report.results.iter().filter(|item| item.outcome != "unchanged");
    match format {
        Format::Json => output::print_json(report)?,
        Format::Name => output::print_names(changed().map(|item| item.name.as_str()))?,
        Format::Table => {
            let rows: Vec<Vec<String>> = changed().map(row).collect();
            if !rows.is_empty() {
                output::print(&output::table(&["NAME", "TYPE", "OUTCOME", "NOTE"], rows, None))?;
            }
        }
    }
    let refused: Vec<&ItemDocument> = report.results.iter().filter(|item| item.code.is_some()).collect();
    for item in refused.iter().take(MAX_EXPLAINED) {
        eprint!("{}", output::clean(&refused_text(item)));
    }
    if refused.len() > MAX_EXPLAINED {
        note!("… and {} more: -o json shows all", refused.len() - MAX_EXPLAINED);
    }
    for warning in &report.warnings {
        note!("warning: {} {}: {}", warning.name, warning.rtype, warning.detail);
    }
    note_dangling(&report.dangling, report.more_dangling);
    note!("{}", sentence(report));
    if status == StatusCode::MULTI_STATUS { Err(Failure::Partly) } else { Ok(()) }
}

fn row(item: &ItemDocument) -> Vec<String> {
    let note = match (&item.promoted, &item.holder, &item.code) {
        (Some(promoted), _, _) => format!("now served: that of {}", promoted.owner),
        (None, Some(holder), _) => format!("held by {}", holder.owner),
        (None, None, Some(code)) => code.clone(),
        (None, None, None) => String::new(),
    };
    vec![item.name.clone(), item.rtype.clone(), item.outcome.clone(), note]
}

/// Says once that the write could wait for those that hold what it wants, if it could.
pub(super) fn print_waiting(report: &ReportDocument, waiting: Waiting) {
    let is_conflict =
        |item: &ItemDocument| item.code.as_deref().is_some_and(is_of_holder) && item.outcome == "conflict";
    if waiting == Waiting::Possible && report.results.iter().any(is_conflict) {
        note!("{WAITING}");
    }
}

/// A refused item in words.
pub(super) fn refused_text(item: &ItemDocument) -> String {
    let detail = item.detail.as_deref().unwrap_or_default();
    // Most sentences begin with the name themselves.
    let mut out = if detail.starts_with(&item.name) && item.outcome != "invalid" {
        format!("{}: {detail}\n", item.outcome)
    } else {
        format!("{}: {} {}: {detail}\n", item.outcome, item.name, item.rtype)
    };
    if let Some(holder) = &item.holder {
        out.push_str(&format!("  {}\n", holder_text(holder)));
    }
    if let Some(advice) = advice(item.code.as_deref().unwrap_or_default(), item.holder.as_ref()) {
        out.push_str(&format!("  {advice}\n"));
    }
    out
}

/// Tells of what points at nothing now.
pub(super) fn note_dangling(rows: &[DanglingDocument], more: bool) {
    for one in rows.iter().take(MAX_EXPLAINED) {
        note!("warning: {} {} of {} points at {}, which is gone", one.name, one.rtype, one.owner, one.target);
    }
    if more || rows.len() > MAX_EXPLAINED {
        note!("… and more that point at what is gone: -o json shows them");
    }
}

fn counts(summary: &SummaryDocument) -> String {
    let parts = [
        (summary.created, "created"),
        (summary.updated, "updated"),
        (summary.deleted, "deleted"),
        (summary.unchanged, "unchanged"),
        (summary.queued, "queued"),
        (summary.conflict, "in conflict"),
        (summary.invalid, "invalid"),
        (summary.held, "held back"),
        (summary.quarantined, "in quarantine"),
    ];
    let told: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if told.is_empty() { "nothing to do".to_owned() } else { told.join(", ") }
}

/// The report in one line.
fn sentence(report: &ReportDocument) -> String {
    let mut out = counts(&report.summary);
    if report.dry_run {
        return format!("dry run, nothing was done: {out}");
    }
    if !report.serials.is_empty() && report.serials.len() <= 3 {
        let serials: Vec<String> =
            report.serials.iter().map(|(zone, serial)| format!("{zone} is at serial {serial}")).collect();
        out.push_str(&format!("; {}", serials.join(", ")));
    }
    out.push_str(&format!(" (revision {})", report.revision));
    out
}

/// Prints what a deletion took.
pub(super) fn print_deleted(deleted: &DeletedDocument, what: &str, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(deleted)?,
        Format::Name => output::print_names(deleted.owners.iter().map(String::as_str))?,
        Format::Table => {
            let rows: Vec<Vec<String>> = deleted
                .records
                .iter()
                .map(|item| {
                    let note = item.promoted.as_ref().map(|promoted| format!("now served: that of {}", promoted.owner));
                    let owner = item.owner.clone().unwrap_or_default();
                    vec![item.name.clone(), item.rtype.clone(), item.outcome.clone(), owner, note.unwrap_or_default()]
                })
                .collect();
            if !rows.is_empty() {
                output::print(&output::table(&["NAME", "TYPE", "OUTCOME", "OWNER", "NOTE"], rows, None))?;
            }
        }
    }
    note_dangling(&deleted.dangling, deleted.more_dangling);
    // Of a zone not all are listed.
    let listed = deleted.records.len() as u64;
    let (owners, records) = (deleted.owners_deleted, listed.max(deleted.summary.deleted));
    let dry = if deleted.dry_run { "dry run, nothing was done: " } else { "" };
    let owners = match owners {
        0 => String::new(),
        1 => "1 owner and ".to_owned(),
        more => format!("{more} owners and "),
    };
    let records = if records == 1 { "1 record set".to_owned() } else { format!("{records} record sets") };
    if deleted.outcome.as_deref() == Some("quarantined") {
        note!("{dry}{what}: {records} in quarantine for 7 days (revision {})", deleted.revision);
        return Ok(());
    }
    // Records that went to another owner are still there.
    let released = deleted.records.iter().filter(|item| item.outcome == "updated").count();
    let released = if released > 0 { format!(", of those {released} kept by another owner") } else { String::new() };
    note!("{dry}{what}: {owners}{records} deleted{released} (revision {})", deleted.revision);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_report_tells_what_there_is_to_tell() {
        let mut report = ReportDocument { revision: 12, ..ReportDocument::default() };
        assert_eq!(sentence(&report), "nothing to do (revision 12)");
        report.summary = SummaryDocument { created: 2, unchanged: 1, conflict: 1, ..SummaryDocument::default() };
        report.serials.insert("example.com.".to_owned(), 2026113001);
        assert_eq!(
            sentence(&report),
            "2 created, 1 unchanged, 1 in conflict; example.com. is at serial 2026113001 (revision 12)"
        );
        report.dry_run = true;
        assert_eq!(sentence(&report), "dry run, nothing was done: 2 created, 1 unchanged, 1 in conflict");
    }
}
