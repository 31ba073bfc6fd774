//! `tenured explain`.

use clap::Args;

use super::client::Client;
use super::failure::{Failure, holder_text};
use super::output::{self, Format};
use crate::api::documents::ExplanationDocument;

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// The name
    name: String,
    /// The type
    #[arg(value_name = "TYPE", default_value = "A")]
    rtype: String,
}

pub(super) async fn run(flags: Flags, client: &Client, format: Format) -> Result<(), Failure> {
    let query = [("name", flags.name.as_str()), ("type", flags.rtype.as_str())];
    let told: ExplanationDocument = client.get("/v1/explain", &query).await?;
    match format {
        Format::Json => output::print_json(&told),
        Format::Name => output::print_names([told.name.as_str()].into_iter()),
        Format::Table => output::print_pairs(&[
            ("verdict", told.verdict.clone()),
            ("steps", told.steps.iter().map(|step| step.detail.as_str()).collect::<Vec<_>>().join("\n")),
            ("answer", [vec![told.answer.rcode.clone()], told.answer.records.clone()].concat().join("\n")),
            ("holder", told.holder.as_ref().map(holder_text).unwrap_or_default()),
            (
                "waiting",
                told.queued
                    .iter()
                    .map(|one| format!("{} since {} for {} {}", one.owner, one.since, one.rtype, one.values.join(" ")))
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
            ("negative until", told.negative_until.clone().unwrap_or_default()),
            (
                "changes",
                told.changes
                    .iter()
                    .map(|change| {
                        let what = super::history::what(&change.before, &change.after);
                        format!("{} {} {} {}: {what}", change.revision, change.at, change.owner, change.rtype)
                    })
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
        ]),
    }
}
