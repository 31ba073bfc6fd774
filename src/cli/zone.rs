//! `tenured zone …`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::client::{Body, Client, path};
use super::failure::{Failure, Waiting};
use super::output::{self, Format};
use super::report;
use crate::api::documents::{DeletedDocument, List, ReportDocument, ZoneDocument};
use crate::app::includes::{Includes, MAX_FILE, read_file};
use crate::telemetry::note;
use crate::wire::name::Name;
use crate::zone::file::{self, WriteOptions, ZoneFile};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List zones
    List {
        /// Only those of this owner
        #[arg(long, value_name = "ID")]
        owner: Option<String>,
    },
    /// Make a zone with its SOA and NS
    Create(CreateFlags),
    /// Show a zone
    Show {
        /// The zone
        zone: String,
    },
    /// Delete a zone with all records in it
    Delete {
        /// The zone
        zone: String,
        /// Show what would go, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Make the content of a zone file that of its zone
    Import(ImportFlags),
    /// Write a zone as it is served as a zone file to stdout
    Export {
        /// The zone
        zone: String,
        /// How ALIAS records are written; `addresses` writes the A and AAAA that they come to now
        #[arg(long, value_name = "FORM", value_parser = ["alias", "aname", "generic", "addresses"])]
        alias: Option<String>,
    },
    /// Check zone files without a server
    Check(CheckFlags),
}

#[derive(Args, Debug)]
pub(super) struct CreateFlags {
    /// The zone
    zone: String,
    /// Its owner [default: that of the token; for admin zone:<zone>]
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// A name server; may repeat [default: the server's dns.nameservers, else ns1.<zone>]
    #[arg(long = "nameserver", value_name = "NAME")]
    nameservers: Vec<String>,
    /// E-mail address for the SOA [default: hostmaster@<zone>]
    #[arg(long, value_name = "ADDRESS")]
    contact: Option<String>,
    /// TTL of records that give none, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS")]
    default_ttl: Option<u32>,
    /// Upstream group of its ALIAS records
    #[arg(long, value_name = "GROUP")]
    upstream_group: Option<String>,
    /// Show what would come of it, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args, Debug)]
pub(super) struct ImportFlags {
    /// The zone file; what it includes must be below its folder
    file: PathBuf,
    /// The zone, if the file does not say it [default: the file's name without .zone]
    #[arg(long, value_name = "ZONE")]
    origin: Option<String>,
    /// Owner of the zone, if it is made
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Keep imported records that the file does not have
    #[arg(long)]
    no_prune: bool,
    /// All or nothing
    #[arg(long)]
    atomic: bool,
    /// Let so many records be deleted
    #[arg(long, value_name = "N")]
    max_deletes: Option<u64>,
    /// Refuse records that others hold, or queue for them
    #[arg(long, value_name = "WHAT", value_parser = ["reject", "queue"])]
    on_conflict: Option<String>,
    /// Show what would come of it, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args, Debug)]
pub(super) struct CheckFlags {
    /// Zone files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The zone, if the file does not say it [default: the file's name without .zone]
    #[arg(long, value_name = "ZONE")]
    origin: Option<String>,
}

pub(super) async fn run(command: Command, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Command::List { owner } => list(owner.as_deref(), client, format).await,
        Command::Create(flags) => create(flags, client, format).await,
        Command::Show { zone } => show(&client.get(&path(&["v1", "zones", &zone]), &[]).await?, format),
        Command::Delete { zone, dry_run } => {
            let query: &[(&str, &str)] = if dry_run { &[("dryRun", "true")] } else { &[] };
            let path = path(&["v1", "zones", &zone]);
            let (_, deleted): (_, DeletedDocument) = client.write(Method::DELETE, &path, query, Body::Nothing).await?;
            report::print_deleted(&deleted, &format!("zone {zone}"), format)
        }
        Command::Import(flags) => import(flags, client, format).await,
        Command::Export { zone, alias } => {
            let query: Vec<(&str, &str)> = alias.iter().map(|form| ("alias", form.as_str())).collect();
            let path = path(&["v1", "zones", &zone, "zonefile"]);
            let (_, text) = client.send(Method::GET, &path, &query, Body::Nothing).await?;
            output::print(&text)
        }
        Command::Check(flags) => check(&flags, format),
    }
}

async fn list(owner: Option<&str>, client: &Client, format: Format) -> Result<(), Failure> {
    let query: Vec<(&str, &str)> = owner.iter().map(|owner| ("owner", *owner)).collect();
    let list: List<ZoneDocument> = client.get_all("/v1/zones", &query).await?;
    match format {
        Format::Json => output::print_json(&list),
        Format::Name => output::print_names(list.items.iter().map(|zone| zone.name.as_str())),
        Format::Table => {
            let rows = list
                .items
                .into_iter()
                .map(|zone| vec![zone.name, zone.record_count.to_string(), zone.serial.to_string(), zone.owner]);
            let nothing = "there are no zones: tenured zone create NAME, or tenured zone import FILE";
            output::print_table(&["NAME", "RECORDS", "SERIAL", "OWNER"], rows.collect(), nothing)
        }
    }
}

fn show(zone: &ZoneDocument, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(zone),
        Format::Name => output::print_names([zone.name.as_str()].into_iter()),
        Format::Table => output::print_pairs(&[
            ("name", zone.name.clone()),
            ("unicode", zone.unicode.clone().unwrap_or_default()),
            ("owner", zone.owner.clone()),
            ("serial", zone.serial.to_string()),
            ("records", zone.record_count.to_string()),
            ("default ttl", zone.default_ttl.to_string()),
            ("nameservers", zone.nameservers.join("\n")),
            ("contact", zone.contact.clone()),
            ("upstream group", zone.upstream_group.clone().unwrap_or_default()),
            ("created", zone.created_at.clone()),
            ("revision", zone.revision.to_string()),
        ]),
    }
}

async fn create(flags: CreateFlags, client: &Client, format: Format) -> Result<(), Failure> {
    let mut body = Map::new();
    if !flags.nameservers.is_empty() {
        body.insert("nameservers".to_owned(), json!(flags.nameservers));
    }
    let texts = [("owner", flags.owner), ("contact", flags.contact), ("upstreamGroup", flags.upstream_group)];
    for (key, value) in texts {
        if let Some(value) = value {
            body.insert(key.to_owned(), Value::String(value));
        }
    }
    if let Some(seconds) = flags.default_ttl {
        body.insert("defaultTtl".to_owned(), json!(seconds));
    }
    let path = path(&["v1", "zones", &flags.zone]);
    let body = Body::Json(Value::Object(body));
    if flags.dry_run {
        let (status, report): (_, ReportDocument) =
            client.write(Method::PUT, &path, &[("dryRun", "true")], body).await?;
        return report::print(status, &report, format);
    }
    let (_, zone): (_, ZoneDocument) = client.write(Method::PUT, &path, &[], body).await?;
    show(&zone, format)?;
    let outcome = zone.outcome.unwrap_or_default();
    note!("zone {} {outcome}; next: tenured record set www.{} A 192.0.2.1", zone.name, zone.name);
    Ok(())
}

async fn import(flags: ImportFlags, client: &Client, format: Format) -> Result<(), Failure> {
    let zone = read(&flags.file, flags.origin.as_deref())?;
    let mut text = String::new();
    // All includes become one text; a String takes everything.
    let _ = file::write_file(&mut text, &zone, WriteOptions::default());
    let deletes = flags.max_deletes.map(|count| count.to_string());
    let mut query: Vec<(&str, &str)> = Vec::new();
    if flags.no_prune {
        query.push(("prune", "false"));
    }
    if flags.atomic {
        query.push(("atomic", "true"));
    }
    if flags.dry_run {
        query.push(("dryRun", "true"));
    }
    if let Some(count) = &deletes {
        query.push(("maxDeletes", count));
    }
    if let Some(what) = &flags.on_conflict {
        query.push(("onConflict", what));
    }
    if let Some(owner) = &flags.owner {
        query.push(("owner", owner));
    }
    let name = zone.origin.to_string();
    let path = path(&["v1", "zones", &name, "zonefile"]);
    let can_wait = Waiting::of(flags.on_conflict.as_deref());
    let written = client.write(Method::PUT, &path, &query, Body::ZoneFile(text)).await;
    let (status, report): (_, ReportDocument) = written.map_err(|failure| failure.or_wait(can_wait))?;
    report::print_waiting(&report, can_wait);
    note!("zone {name} from {}", flags.file.display());
    report::print(status, &report, format)
}

/// The zone of a file's name: `example.com.zone` is of `example.com.`
fn origin_of(file: &Path) -> Option<Name> {
    let stem = file.file_name()?.to_str()?;
    Name::parse(stem.strip_suffix(".zone")?).ok()
}

/// Reads a zone file; warnings go to stderr, and so do errors, each with its place.
fn read(path: &Path, origin: Option<&str>) -> Result<ZoneFile, Failure> {
    let shown = path.display().to_string();
    let origin = match origin {
        Some(text) => {
            Some(Name::parse(text).map_err(|error| Failure::Usage(format!("--origin is no domain name: {error}")))?)
        }
        None => origin_of(path),
    };
    let text = read_file(path, MAX_FILE).map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    let mut below = Includes::below(path);
    match file::read(&text, &shown, origin.as_ref(), &mut below) {
        Ok(zone) => {
            for warning in &zone.warnings {
                note!("warning: {warning}");
            }
            Ok(zone)
        }
        Err(findings) => {
            for finding in &findings {
                note!("error: {finding}");
            }
            let more = if findings.len() >= file::MAX_ERRORS { " at least" } else { "" };
            note!("{shown} is faulty:{more} {} errors, and nothing of it is used", findings.len());
            Err(Failure::Faulty)
        }
    }
}

/// Checks files without a server.
pub(super) fn check(flags: &CheckFlags, format: Format) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut faulty = false;
    for path in &flags.files {
        match read(path, flags.origin.as_deref()) {
            Ok(zone) => {
                let records: usize = zone.rrsets.iter().map(|(_, rrset)| rrset.records.len()).sum();
                rows.push((path.display().to_string(), zone.origin.to_string(), records, zone.warnings.len()));
            }
            Err(Failure::Faulty) => faulty = true,
            Err(failure @ Failure::Failed { .. }) => {
                failure.print();
                faulty = true;
            }
            Err(other) => return Err(other),
        }
    }
    match format {
        Format::Name => output::print_names(rows.iter().map(|(_, zone, _, _)| zone.as_str()))?,
        Format::Json => {
            let documents: Vec<Value> = rows
                .iter()
                .map(|(file, zone, records, warnings)| {
                    json!({"file": file, "zone": zone, "recordCount": records, "warnings": warnings})
                })
                .collect();
            output::print_json(&documents)?;
        }
        Format::Table => {
            let rows: Vec<Vec<String>> = rows
                .into_iter()
                .map(|(file, zone, records, warnings)| vec![file, zone, records.to_string(), warnings.to_string()])
                .collect();
            if !rows.is_empty() {
                output::print(&output::table(&["FILE", "ZONE", "RECORDS", "WARNINGS"], rows, None))?;
            }
        }
    }
    if faulty { Err(Failure::Faulty) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_its_zone() {
        assert_eq!(origin_of(Path::new("zones/example.com.zone")), Name::parse("example.com.").ok());
        assert_eq!(origin_of(Path::new("zones/db.example")), None);
    }

    #[test]
    fn a_faulty_file_fails_the_check_and_a_good_one_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let good = folder.path().join("example.com.zone");
        let text = "@ 300 IN SOA ns1 hostmaster 1 2 3 4 5\n@ 300 NS ns1\nns1 300 A 192.0.2.1\n$INCLUDE more.inc\n";
        std::fs::write(&good, text).expect("a file");
        std::fs::write(folder.path().join("more.inc"), "www 300 A 192.0.2.2\n").expect("a file");
        let zone = read(&good, None).expect("a good file");
        assert_eq!((zone.origin.to_string().as_str(), zone.rrsets.len()), ("example.com.", 4));
        let bad = folder.path().join("bad.example.zone");
        std::fs::write(&bad, "@ 300 IN SOA ns1\n").expect("a file");
        let flags = CheckFlags { files: vec![good, bad], origin: None };
        assert_eq!(check(&flags, Format::Name).expect_err("one is faulty").exit_code(), 1);
    }
}
