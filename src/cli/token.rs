//! `tenured token …`.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::client::{Body, Client, path};
use super::failure::Failure;
use super::output::{self, Format};
use crate::api::documents::{DeletedDocument, List, TokenDocument};
use crate::telemetry::note;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a token; its text is shown once
    Create(Box<CreateFlags>),
    /// List tokens
    List,
    /// Delete a token: it is refused from then on
    Delete {
        /// Its id
        id: String,
    },
}

#[derive(Args, Debug)]
pub(super) struct CreateFlags {
    /// A name for people
    name: String,
    /// What it may do
    #[arg(long, value_name = "ROLE", default_value = "owner", value_parser = ["admin", "owner", "read"])]
    role: String,
    /// Of role owner: the owner that it may write for, with all below it
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Limit to zones, as *.example.com; may repeat
    #[arg(long = "zone", value_name = "GLOB")]
    zones: Vec<String>,
    /// Limit to a name and all below it, with a dot in front to what is below; may repeat
    #[arg(long = "name-limit", value_name = "NAME")]
    names: Vec<String>,
    /// Limit to types; may repeat
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// When it ends, as 2030-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    #[command(flatten)]
    door: DoorFlags,
}

/// What is for a door alone.
#[derive(Args, Debug)]
pub(super) struct DoorFlags {
    /// The door that it opens beside the API; its owner is then externaldns:NAME if --owner is not given
    #[arg(long, value_parser = ["externaldns"])]
    door: Option<String>,
    /// What becomes of a record that another owner holds
    #[arg(long, requires = "door", value_parser = ["queue", "reject"])]
    on_conflict: Option<String>,
    /// Records may stand beside those of other owners that say so too
    #[arg(long, requires = "door")]
    share: bool,
    /// Take over records that an import left to its zone, if they are equal
    #[arg(long, requires = "door")]
    adopt_equal: bool,
    /// Lowest TTL
    #[arg(long, requires = "door", value_name = "SECONDS")]
    ttl_min: Option<u32>,
    /// Highest TTL
    #[arg(long, requires = "door", value_name = "SECONDS")]
    ttl_max: Option<u32>,
    /// Deletes are never held back
    #[arg(long, requires = "door")]
    no_brake: bool,
}

impl DoorFlags {
    fn add_to(self, body: &mut Map<String, Value>) {
        let mut add = |key: &str, value: Option<Value>| body.extend(value.map(|value| (key.to_owned(), value)));
        add("door", self.door.map(Value::String));
        add("onConflict", self.on_conflict.map(Value::String));
        add("share", self.share.then_some(json!(true)));
        add("adoptEqual", self.adopt_equal.then_some(json!(true)));
        add("ttlMin", self.ttl_min.map(Value::from));
        add("ttlMax", self.ttl_max.map(Value::from));
        add("brake", self.no_brake.then_some(json!(false)));
    }
}

pub(super) async fn run(command: Command, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Command::Create(flags) => create(*flags, client, format).await,
        Command::List => list(&client.get_all("/v1/tokens", &[]).await?, format),
        Command::Delete { id } => {
            let path = path(&["v1", "tokens", &id]);
            let (_, deleted): (_, DeletedDocument) = client.write(Method::DELETE, &path, &[], Body::Nothing).await?;
            match format {
                Format::Json => output::print_json(&deleted)?,
                Format::Table | Format::Name => {}
            }
            note!("token {id} deleted");
            Ok(())
        }
    }
}

async fn create(flags: CreateFlags, client: &Client, format: Format) -> Result<(), Failure> {
    if flags.role == "owner" && flags.owner.is_none() && flags.door.door.is_none() {
        let what = "a token of role owner needs --owner ID; or give --role admin or --role read";
        return Err(Failure::Usage(what.to_owned()));
    }
    let mut body = Map::from_iter([("name".to_owned(), json!(flags.name)), ("role".to_owned(), json!(flags.role))]);
    for (key, value) in [("owner", flags.owner), ("expiresAt", flags.expires)] {
        body.extend(value.map(|value| (key.to_owned(), Value::String(value))));
    }
    for (key, values) in [("zones", flags.zones), ("names", flags.names), ("types", flags.types)] {
        if !values.is_empty() {
            body.insert(key.to_owned(), json!(values));
        }
    }
    flags.door.add_to(&mut body);
    let (_, token): (_, TokenDocument) =
        client.write(Method::POST, "/v1/tokens", &[], Body::Json(Value::Object(body))).await?;
    let text = token.token.clone().unwrap_or_default();
    match format {
        Format::Json => output::print_json(&token)?,
        Format::Name | Format::Table => output::print(&format!("{text}\n"))?,
    }
    note!("token {} for {} made; its text is shown this once", token.id, rights(&token));
    Ok(())
}

fn rights(token: &TokenDocument) -> String {
    match (&token.owner, &token.door) {
        (Some(owner), Some(door)) => format!("{} {owner} by {door}", token.role),
        (Some(owner), None) => format!("{} {owner}", token.role),
        (None, _) => token.role.clone(),
    }
}

fn list(list: &List<TokenDocument>, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(list),
        Format::Name => output::print_names(list.items.iter().map(|token| token.id.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|token| {
                let limits: Vec<&str> =
                    [&token.zones, &token.names, &token.types].into_iter().flatten().map(String::as_str).collect();
                vec![
                    token.id.clone(),
                    token.name.clone(),
                    rights(token),
                    limits.join(" "),
                    token.created_at.clone().unwrap_or_default(),
                    token.expires_at.clone().unwrap_or_else(|| "never".to_owned()),
                ]
            });
            output::print_table(
                &["ID", "NAME", "ROLE", "LIMITS", "CREATED", "EXPIRES"],
                rows.collect(),
                "there are no tokens",
            )
        }
    }
}
