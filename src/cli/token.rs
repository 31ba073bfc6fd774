//! `tenured token …`.

use std::path::{Path, PathBuf};

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
    #[arg(required_unless_present = "named")]
    name: Option<String>,
    /// The same, as a flag
    #[arg(long = "name", value_name = "NAME", conflicts_with = "name")]
    named: Option<String>,
    /// What it may do
    #[arg(long, value_name = "ROLE", default_value = "owner", value_parser = ["admin", "owner", "read"])]
    role: String,
    /// The API that it is for; powerdns makes a key of the PowerDNS door, externaldns lets an external-dns client in, whose
    /// owner is then externaldns:NAME if --owner is not given
    #[arg(long, value_name = "DOOR", default_value = "native", value_parser = ["native", "powerdns", "externaldns"])]
    door: String,
    /// Of a key: the kind of controller, which sets the defaults of all below
    #[arg(long, value_name = "PROFILE", requires = "door", value_parser = ["generic", "dns-operator", "external-dns", "acme"])]
    profile: Option<String>,
    /// Of a key: a file with the secret that clients have already
    #[arg(long, value_name = "FILE", requires = "door")]
    secret_file: Option<PathBuf>,
    /// Of a key: what reads show
    #[arg(long, value_name = "VIEW", requires = "door", value_parser = ["all", "own"])]
    view: Option<String>,
    /// Of a key: what a refused record set does to the rest of its request
    #[arg(long, value_name = "HOW", requires = "door", value_parser = ["reject", "partial", "quiet"])]
    conflicts: Option<String>,
    /// Of a key: any other field, as takeover=true; may repeat
    #[arg(long = "set", value_name = "FIELD=VALUE", requires = "door", value_parser = field)]
    fields: Vec<(String, Value)>,
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
    client: ClientTerms,
}

/// How an external-dns client works.
#[derive(Args, Debug)]
pub(super) struct ClientTerms {
    /// Of externaldns: what becomes of a record that another owner holds
    #[arg(long, requires = "door", value_parser = ["queue", "reject"])]
    on_conflict: Option<String>,
    /// Of externaldns: records may stand beside those of other owners that say so too
    #[arg(long, requires = "door")]
    share: bool,
    /// Of externaldns: take over records that an import left to its zone, if they are equal
    #[arg(long, requires = "door")]
    adopt_equal: bool,
    /// Of externaldns: lowest TTL
    #[arg(long, requires = "door", value_name = "SECONDS")]
    ttl_min: Option<u32>,
    /// Of externaldns: highest TTL
    #[arg(long, requires = "door", value_name = "SECONDS")]
    ttl_max: Option<u32>,
    /// Of externaldns: deletes are never held back
    #[arg(long, requires = "door")]
    no_brake: bool,
}

impl ClientTerms {
    fn add_to(self, body: &mut Map<String, Value>) {
        let mut add = |key: &str, value: Option<Value>| body.extend(value.map(|value| (key.to_owned(), value)));
        add("onConflict", self.on_conflict.map(Value::String));
        add("share", self.share.then_some(json!(true)));
        add("adoptEqual", self.adopt_equal.then_some(json!(true)));
        add("ttlMin", self.ttl_min.map(Value::from));
        add("ttlMax", self.ttl_max.map(Value::from));
        add("brake", self.no_brake.then_some(json!(false)));
    }
}

/// A field of a key with its value: JSON, or a text.
fn field(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("a field is written FIELD=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
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
    let is_key = flags.door != "native";
    if flags.role == "owner" && flags.owner.is_none() && !is_key {
        let what = "a token of role owner needs --owner ID; or give --role admin or --role read";
        return Err(Failure::Usage(what.to_owned()));
    }
    let name = flags.name.or(flags.named).unwrap_or_default();
    let mut body = Map::from_iter([("name".to_owned(), json!(name)), ("role".to_owned(), json!(flags.role))]);
    if is_key {
        body.insert("door".to_owned(), json!(flags.door));
    }
    let secret = flags.secret_file.map(|path| read_secret(&path)).transpose()?;
    for (key, value) in [
        ("owner", flags.owner),
        ("expiresAt", flags.expires),
        ("profile", flags.profile),
        ("secret", secret),
        ("view", flags.view),
        ("conflicts", flags.conflicts),
    ] {
        body.extend(value.map(|value| (key.to_owned(), Value::String(value))));
    }
    body.extend(flags.fields);
    for (key, values) in [("zones", flags.zones), ("names", flags.names), ("types", flags.types)] {
        if !values.is_empty() {
            body.insert(key.to_owned(), json!(values));
        }
    }
    flags.client.add_to(&mut body);
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

fn read_secret(path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", path.display())))?;
    Ok(text.trim().to_owned())
}

fn rights(token: &TokenDocument) -> String {
    match &token.owner {
        Some(owner) => format!("{} {owner}", token.door.as_deref().unwrap_or(&token.role)),
        None => token.role.clone(),
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
