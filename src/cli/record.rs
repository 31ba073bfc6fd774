//! `tenured record …`.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::client::{Body, Client, path};
use super::failure::{Failure, Waiting};
use super::output::{self, Format};
use super::report;
use crate::api::documents::{List, RecordDocument, ReportDocument, TokenDocument, ZoneDocument};
use crate::telemetry::note;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List records with their owners
    List(ListFlags),
    /// Make these values the record set of a name and type
    Set(SetFlags),
    /// Delete a record set
    Delete(DeleteFlags),
}

#[derive(Args, Debug)]
pub(super) struct ListFlags {
    /// Only of this zone
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Only at this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only of this type
    #[arg(long = "type", value_name = "TYPE")]
    rtype: Option<String>,
    /// Only of this owner
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Only in this state
    #[arg(long, value_name = "STATE", value_parser = ["held", "queued", "quarantined"])]
    state: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct SetFlags {
    /// The name
    name: String,
    /// The type, as A, CNAME, ALIAS or TYPE65280
    #[arg(value_name = "TYPE")]
    rtype: String,
    /// The values in the form of zone files, absolute names with their final dot; after -- if one begins with -
    #[arg(required = true, value_name = "VALUE")]
    values: Vec<String>,
    /// Whose record it is [default: that of the token; for admin the zone's]
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Seconds [default: the zone's]
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u32>,
    /// Option of an ALIAS, as onNxdomain=stale, families=A or ttlPolicy.mode=strict; may repeat
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = parse_option)]
    options: Vec<(String, Value)>,
    /// What is found out about the target of an ALIAS first [default: warn]
    #[arg(long, value_name = "WHAT", value_parser = ["off", "warn", "require"])]
    target_check: Option<String>,
    /// Wait for the holder to let go, if there is another
    #[arg(long, value_name = "WHAT", value_parser = ["reject", "queue"])]
    on_conflict: Option<String>,
    /// Show what would come of it, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args, Debug)]
pub(super) struct DeleteFlags {
    /// The name
    name: String,
    /// The type
    #[arg(value_name = "TYPE")]
    rtype: String,
    /// Whose record it is [default: that of the token; for admin the zone's]
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Keep it for 7 days, not served: its owner's next write of it restores it
    #[arg(long)]
    quarantine: bool,
    /// Refuse if records of this server would then point at nothing
    #[arg(long)]
    keep_targets: bool,
    /// Show what would go, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// A key and its value: a number, true or false where it reads as such, a list where the key has one, else a text.
fn parse_option(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| "expected KEY=VALUE, as onNxdomain=stale".to_owned())?;
    let value = match (key, value.parse::<u64>(), value) {
        ("families", _, list) => json!(list.split(',').map(str::trim).collect::<Vec<&str>>()),
        (_, Ok(number), _) => json!(number),
        (_, Err(_), "true") => json!(true),
        (_, Err(_), "false") => json!(false),
        (_, Err(_), text) => json!(text),
    };
    Ok((key.to_owned(), value))
}

/// Options as the API takes them; a key with a dot stands in the object before the dot.
fn alias_options(options: Vec<(String, Value)>) -> Map<String, Value> {
    let mut alias = Map::new();
    for (key, value) in options {
        match key.split_once('.') {
            None => {
                alias.insert(key, value);
            }
            Some((outer, inner)) => {
                let object = alias.entry(outer).or_insert_with(|| json!({}));
                if let Some(object) = object.as_object_mut() {
                    object.insert(inner.to_owned(), value);
                }
            }
        }
    }
    alias
}

pub(super) async fn run(command: Command, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Command::List(flags) => list(&flags, client, format).await,
        Command::Set(flags) => set(flags, client, format).await,
        Command::Delete(flags) => delete(flags, client, format).await,
    }
}

async fn list(flags: &ListFlags, client: &Client, format: Format) -> Result<(), Failure> {
    let filters = [
        ("zone", &flags.zone),
        ("name", &flags.name),
        ("type", &flags.rtype),
        ("owner", &flags.owner),
        ("state", &flags.state),
    ];
    let query: Vec<(&str, &str)> = filters.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?))).collect();
    let list: List<RecordDocument> = client.get_all("/v1/records", &query).await?;
    match format {
        Format::Json => output::print_json(&list),
        Format::Name => output::print_names(list.items.iter().map(|record| record.name.as_str())),
        Format::Table => {
            let nothing = "there are no such records";
            output::print_table(&["NAME", "TYPE", "TTL", "OWNER", "STATE", "VALUE"], rows(&list.items), nothing)
        }
    }
}

/// One row a value, so that each can be found by a line search; values go last, since they may be long.
fn rows(records: &[RecordDocument]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for record in records {
        for value in &record.values {
            rows.push(vec![
                record.name.clone(),
                record.rtype.clone(),
                record.ttl.to_string(),
                record.owner.clone(),
                record.state.clone(),
                value.clone(),
            ]);
        }
    }
    rows
}

/// The owner of a write: the one given, the token's, or for admin that of the zone.
async fn owner_for(given: Option<String>, name: &str, client: &Client) -> Result<String, Failure> {
    if let Some(owner) = given {
        return Ok(owner);
    }
    let token: TokenDocument = client.get(&path(&["v1", "tokens", client.token_id()?]), &[]).await?;
    if let Some(owner) = token.owner {
        return Ok(owner);
    }
    let zones: List<ZoneDocument> = client.get("/v1/zones", &[("match", name)]).await?;
    match zones.items.into_iter().next() {
        Some(zone) => Ok(zone.owner),
        None => Err(Failure::Failed {
            what: format!("{name} is in no zone of this server"),
            advice: Some("make the zone first: tenured zone create NAME; to see all: tenured zone list".to_owned()),
        }),
    }
}

async fn set(flags: SetFlags, client: &Client, format: Format) -> Result<(), Failure> {
    let owner = owner_for(flags.owner, &flags.name, client).await?;
    let mut body = Map::new();
    body.insert("values".to_owned(), json!(flags.values));
    if let Some(seconds) = flags.ttl {
        body.insert("ttl".to_owned(), json!(seconds));
    }
    if !flags.options.is_empty() {
        body.insert("alias".to_owned(), Value::Object(alias_options(flags.options)));
    }
    let mut query: Vec<(&str, &str)> = Vec::new();
    if let Some(check) = &flags.target_check {
        query.push(("targetCheck", check));
    }
    if flags.dry_run {
        query.push(("dryRun", "true"));
    }
    if let Some(what) = &flags.on_conflict {
        query.push(("onConflict", what));
    }
    let path = path(&["v1", "owners", &owner, "records", &flags.name, &flags.rtype]);
    let can_wait = Waiting::of(flags.on_conflict.as_deref());
    let written = client.write(Method::PUT, &path, &query, Body::Json(Value::Object(body))).await;
    let (status, report): (_, ReportDocument) = written.map_err(|failure| failure.or_wait(can_wait))?;
    note!("owner {owner}");
    report::print(status, &report, format)
}

async fn delete(flags: DeleteFlags, client: &Client, format: Format) -> Result<(), Failure> {
    let owner = owner_for(flags.owner, &flags.name, client).await?;
    let asked = [
        (flags.dry_run, ("dryRun", "true")),
        (flags.quarantine, ("quarantine", "true")),
        (flags.keep_targets, ("refs", "block")),
    ];
    let query: Vec<(&str, &str)> = asked.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, pair)| pair).collect();
    let path = path(&["v1", "owners", &owner, "records", &flags.name, &flags.rtype]);
    let (status, report): (_, ReportDocument) = client.write(Method::DELETE, &path, &query, Body::Nothing).await?;
    note!("owner {owner}");
    report::print(status, &report, format)
}
