//! Why a command did not do what it was asked for: the exit code, what went wrong, and what to do then.

use super::output::clean;
use crate::api::documents::{HolderDocument, ItemDocument, ProblemDocument};
use crate::telemetry::note;

/// What to do about a holder, where a command can.
pub(super) const WAITING: &str = "to wait for the holder to let go: --on-conflict queue";

/// Whether a command could still be told to wait for the holder of what it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// It was not told to.
    Possible,
    /// It was told to.
    Chosen,
}

impl Waiting {
    /// By the value of `--on-conflict`.
    pub(super) fn of(on_conflict: Option<&str>) -> Waiting {
        if on_conflict == Some("queue") { Waiting::Chosen } else { Waiting::Possible }
    }
}

/// Whether a code says that another owner holds it.
pub(super) fn is_of_holder(code: &str) -> bool {
    matches!(code, "owned_by_other" | "cname_exclusive" | "alias_exclusive")
}

/// A command that failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// What was asked for cannot be asked for: 2.
    Usage(String),
    /// It failed: 1.
    Failed {
        /// What went wrong.
        what: String,
        /// What to do.
        advice: Option<String>,
    },
    /// The server refused it: by its status.
    Problem(Box<ProblemDocument>),
    /// The server refused it since another holds it, and the command could wait for that one: by its status.
    Waitable(Box<ProblemDocument>),
    /// A comparison found differences, and printed them: 1.
    Differs,
    /// A comparison could not be made: 2.
    NoDiff(Box<Failure>),
    /// There is no token to ask with: 5.
    NoToken(String),
    /// The server cannot be reached: 6.
    Unavailable(String),
    /// A part of it was refused, and that was said already: 4.
    Partly,
    /// A file is faulty, and that was said already: 1.
    Faulty,
    /// Nobody reads the output any more: 0, quietly.
    ReaderGone,
}

impl Failure {
    /// It failed, and there is no advice.
    pub(super) fn failed(what: impl Into<String>) -> Failure {
        Failure::Failed { what: what.into(), advice: None }
    }

    /// A refusal that waiting would get round, where the command can wait.
    pub(super) fn or_wait(self, waiting: Waiting) -> Failure {
        match (self, waiting) {
            (Failure::Problem(problem), Waiting::Possible) if is_of_holder(&problem.code) => Failure::Waitable(problem),
            (failure, _) => failure,
        }
    }

    /// A failure of a comparison, whose exit code says that it was not made.
    pub(super) fn of_diff(self) -> Failure {
        match self {
            Failure::ReaderGone => Failure::ReaderGone,
            failure => Failure::NoDiff(Box::new(failure)),
        }
    }

    /// 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict or precondition, 5 not authorised, 6 unavailable.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Failure::ReaderGone => 0,
            Failure::Failed { .. } | Failure::Faulty | Failure::Differs => 1,
            Failure::Usage(_) | Failure::NoDiff(_) => 2,
            Failure::Partly => 4,
            Failure::NoToken(_) => 5,
            Failure::Unavailable(_) => 6,
            Failure::Problem(problem) | Failure::Waitable(problem) => match problem.status {
                404 => 3,
                409 | 410 | 412 => 4,
                401 | 403 => 5,
                429 | 502..=504 => 6,
                _ => 1,
            },
        }
    }

    /// Prints it to stderr: first what went wrong, then what to do.
    pub(super) fn print(&self) {
        match self {
            Failure::ReaderGone | Failure::Partly | Failure::Faulty | Failure::Differs => {}
            Failure::NoDiff(failure) => failure.print(),
            Failure::Usage(what) => note!("error: {what}"),
            Failure::NoToken(what) | Failure::Unavailable(what) => note!("error: {what}"),
            Failure::Failed { what, advice } => {
                note!("error: {what}");
                if let Some(advice) = advice {
                    note!("  {advice}");
                }
            }
            Failure::Problem(problem) => eprint!("{}", clean(&problem_text(problem))),
            Failure::Waitable(problem) => eprintln!("{}  {WAITING}", clean(&problem_text(problem))),
        }
    }
}

/// A problem as a person reads it.
pub(super) fn problem_text(problem: &ProblemDocument) -> String {
    let detail = if problem.detail.is_empty() { problem.title.as_str() } else { problem.detail.as_str() };
    let mut out = String::from("error: ");
    if let Some(record) = &problem.record {
        out.push_str(&format!("{} {}: ", record.name, record.rtype));
    }
    out.push_str(detail);
    out.push('\n');
    for error in &problem.errors {
        let place = match (&error.line, &error.pointer) {
            (Some(line), _) => format!("line {line}: "),
            (None, Some(pointer)) => format!("{pointer}: "),
            (None, None) => String::new(),
        };
        out.push_str(&format!("  {place}{}\n", error.detail));
    }
    if let Some(holder) = &problem.holder {
        out.push_str(&format!("  {}\n", holder_text(holder)));
    }
    // The first refused item is the one that the problem is about: its sentence stands here already.
    let told = |item: &&ItemDocument| item.detail.as_deref() == Some(&problem.detail);
    for item in problem.results.iter().filter(|item| item.code.is_some() && !told(item)) {
        out.push_str(&super::report::refused_text(item));
    }
    if let Some(advice) = advice(&problem.code, problem.holder.as_ref()) {
        out.push_str(&format!("  {advice}\n"));
    }
    out
}

/// Who holds it, and what that belongs to, in words.
pub(super) fn holder_text(holder: &HolderDocument) -> String {
    let mut out = format!("held by {}", holder.owner);
    if let Some(kind) = &holder.kind {
        out.push_str(&format!(" ({kind})"));
    }
    out.push_str(&format!(" since {}", holder.since));
    if let Some((nearest, above)) = holder.parents.split_first() {
        out.push_str(&format!(", which belongs to {nearest}"));
        for parent in above {
            out.push_str(&format!(", in turn to {parent}"));
        }
    }
    out
}

/// The next command to try.
pub(super) fn advice(code: &str, holder: Option<&HolderDocument>) -> Option<String> {
    Some(match (code, holder) {
        (code, Some(holder)) if is_of_holder(code) => {
            format!("see what it has: tenured owner show {}", quoted(&holder.owner))
        }
        ("unauthorized", _) => "give a valid one with --token-file or TENURED_TOKEN".to_owned(),
        ("forbidden", _) => {
            "use a token that may: an admin token, or one for an owner above (tenured token create)".to_owned()
        }
        ("has_children", _) => "to delete all of them: add --cascade; to see them: tenured owner tree".to_owned(),
        ("delete_guard", _) => "if that is meant: add --max-deletes with that number".to_owned(),
        ("name_out_of_zone", _) => {
            "make the zone first: tenured zone create NAME; to see all: tenured zone list".to_owned()
        }
        ("storage_unavailable" | "timed_out" | "rate_limited", _) => "try again in a moment".to_owned(),
        ("stale_generation" | "fenced", _) => {
            "another writer is ahead: read the owner again before you write".to_owned()
        }
        _ => return None,
    })
}

/// A text as a shell takes it for one word.
pub(super) fn quoted(text: &str) -> String {
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&octet);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_the_holder_its_parents_and_the_next_command() {
        let holder = HolderDocument {
            owner: "k8s:prod/Gateway/shop/web site".to_owned(),
            kind: Some("Gateway".to_owned()),
            parents: vec!["k8s:prod/HTTPProxy/shop/web".to_owned(), "k8s:prod".to_owned()],
            since: "2026-07-12T09:00:00Z".to_owned(),
        };
        let problem = ProblemDocument {
            status: 409,
            code: "owned_by_other".to_owned(),
            detail: "another owner holds it".to_owned(),
            holder: Some(holder),
            ..ProblemDocument::default()
        };
        let text = problem_text(&problem);
        assert_eq!(
            text,
            "error: another owner holds it\n  held by k8s:prod/Gateway/shop/web site (Gateway) since \
             2026-07-12T09:00:00Z, which belongs to k8s:prod/HTTPProxy/shop/web, in turn to k8s:prod\n  see what it \
             has: tenured owner show 'k8s:prod/Gateway/shop/web site'\n"
        );
        assert_eq!(Failure::Problem(Box::new(problem)).exit_code(), 4);
    }

    #[test]
    fn exit_codes_follow_the_status() {
        for (status, code) in [(404, 3), (412, 4), (401, 5), (403, 5), (503, 6), (504, 6), (422, 1), (400, 1), (500, 1)]
        {
            let problem = ProblemDocument { status, ..ProblemDocument::default() };
            assert_eq!(Failure::Problem(Box::new(problem)).exit_code(), code, "{status}");
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell_only_where_they_need_it() {
        assert_eq!(quoted("k8s:prod/Gateway"), "k8s:prod/Gateway");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
