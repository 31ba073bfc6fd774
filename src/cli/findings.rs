//! `tenured orphans`, `tenured conflicts` and `tenured flaps`.

use clap::Args;

use super::client::Client;
use super::failure::Failure;
use super::output::{self, Format};
use crate::api::documents::List;
use crate::api::findings::{ConflictDocument, FlapDocument, OrphanDocument};

#[derive(Args, Debug)]
pub(super) struct OrphanFlags {
    /// Only for this reason; unclaimed ones are shown only so
    #[arg(long, value_name = "REASON", value_parser = ["ownerExpired", "ownerUnconfirmed", "targetNxdomain", "unclaimed"])]
    reason: Option<String>,
    /// Only of this owner
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Only of this zone
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Only those that have been so for a time like 24h
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,
}

/// `tenured orphans`.
pub(super) async fn orphans(flags: &OrphanFlags, client: &Client, format: Format) -> Result<(), Failure> {
    let filters =
        [("reason", &flags.reason), ("owner", &flags.owner), ("zone", &flags.zone), ("olderThan", &flags.older_than)];
    let query: Vec<(&str, &str)> = filters.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?))).collect();
    let list: List<OrphanDocument> = client.get_all("/v1/orphans", &query).await?;
    match format {
        Format::Json => output::print_json(&list),
        Format::Name => output::print_names(list.items.iter().map(|one| one.name.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|one| {
                let chain = [vec![one.owner.clone()], one.parents.clone()].concat().join("\nbelow ");
                vec![one.name.clone(), one.rtype.clone(), one.reason.clone(), one.since.clone(), chain]
            });
            output::print_table(&["NAME", "TYPE", "REASON", "SINCE", "OWNER"], rows.collect(), "there are no orphans")
        }
    }
}

/// `tenured conflicts`.
pub(super) async fn conflicts(client: &Client, format: Format) -> Result<(), Failure> {
    let list: List<ConflictDocument> = client.get_all("/v1/conflicts", &[]).await?;
    match format {
        Format::Json => output::print_json(&list),
        Format::Name => output::print_names(list.items.iter().map(|one| one.name.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|one| {
                vec![
                    one.name.clone(),
                    one.rtype.clone(),
                    one.state.clone(),
                    one.owner.clone(),
                    one.holder.clone().unwrap_or_default(),
                    one.code.clone(),
                    one.since.clone(),
                    one.values.join("\n"),
                ]
            });
            let headings = ["NAME", "TYPE", "STATE", "WANTED BY", "HELD BY", "CODE", "SINCE", "VALUE"];
            output::print_table(&headings, rows.collect(), "nobody wants what another holds")
        }
    }
}

/// `tenured flaps`.
pub(super) async fn flaps(client: &Client, format: Format) -> Result<(), Failure> {
    let list: List<FlapDocument> = client.get_all("/v1/flaps", &[]).await?;
    match format {
        Format::Json => output::print_json(&list),
        Format::Name => output::print_names(list.items.iter().map(|flap| flap.name.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|flap| {
                let actors: Vec<String> =
                    flap.actors.iter().map(|actor| format!("{} for {}", actor.token, actor.owner)).collect();
                vec![
                    flap.name.clone(),
                    flap.rtype.clone(),
                    flap.pattern.clone(),
                    flap.count.to_string(),
                    flap.period_seconds.map_or_else(|| "no rhythm".to_owned(), |period| format!("{period} s")),
                    flap.since.clone(),
                    flap.field.clone(),
                    actors.join("\n"),
                ]
            });
            let headings = ["NAME", "TYPE", "PATTERN", "TURNS", "EVERY", "SINCE", "FIELD", "TOKENS"];
            output::print_table(&headings, rows.collect(), "nothing flaps")
        }
    }
}
