//! `tenured revert`.

use clap::Args;
use reqwest::Method;

use super::client::{Body, Client, path};
use super::failure::Failure;
use super::output::Format;
use super::report;
use crate::api::documents::ReportDocument;

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// The revision, as `tenured history` shows it
    #[arg(value_name = "REVISION")]
    revision: u64,
    /// Show what would come of it, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(flags: Flags, client: &Client, format: Format) -> Result<(), Failure> {
    let query: &[(&str, &str)] = if flags.dry_run { &[("dryRun", "true")] } else { &[] };
    let path = path(&["v1", "changes", &flags.revision.to_string(), "revert"]);
    let (status, done): (_, ReportDocument) = client.write(Method::POST, &path, query, Body::Nothing).await?;
    report::print(status, &done, format)
}
