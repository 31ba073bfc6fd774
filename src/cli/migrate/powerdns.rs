//! `tenured migrate powerdns`: the zones of a PowerDNS server, read by its HTTP API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reqwest::StatusCode;
use serde::de::DeserializeOwned;

use super::super::client::{Client, path};
use super::super::failure::Failure;
use super::super::output::Format;
use super::convert::{self, MetadataDocument, Verdict, ZoneDocument, ZoneItem};
use super::report::{Finding, Migration, Row, What};
use super::{Common, Taken, bar, compare, report, take};
use crate::app::includes::read_file;
use crate::config::Config;

/// Time to reach PowerDNS.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Time for one of its answers; a large zone takes its API a while.
const ANSWER_TIME: Duration = Duration::from_secs(300);
/// Largest answer that is read, in octets.
const MAX_ANSWER: usize = 512 * 1024 * 1024;
/// Largest key file, in octets.
const MAX_KEY_FILE: u64 = 4096;

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// Where its API is, as in http://192.0.2.1:8081; the global --url says where this server is
    #[arg(long = "from", value_name = "URL")]
    from: String,
    /// File with its API key; TENURED_POWERDNS_KEY gives the key itself
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Its server id
    #[arg(long, value_name = "ID", default_value = "localhost")]
    server: String,
    /// Where it answers DNS [default: port 53 of the host of its API]
    #[arg(long, value_name = "ADDRESS")]
    old_dns: Option<SocketAddr>,
    #[command(flatten)]
    common: Common,
}

/// PowerDNS's API.
struct Source {
    http: reqwest::Client,
    /// Up to `/servers/<id>`.
    root: String,
    key: String,
}

pub(super) async fn run(flags: Flags, client: &Client, config: &Config, format: Format) -> Result<(), Failure> {
    let source = Source::new(&flags)?;
    let wanted = flags.common.wanted()?;
    let servers = if flags.common.no_compare || flags.common.dry_run {
        None
    } else {
        Some((old_server(&flags).await?, flags.common.new_server(config)?))
    };
    let mut zones: Vec<ZoneItem> = source.get("/zones").await?;
    zones.retain(|item| {
        wanted.is_empty() || crate::wire::name::Name::parse(&item.name).is_ok_and(|name| wanted.contains(&name))
    });
    let mut migration = Migration { dry_run: flags.common.dry_run, ..Migration::default() };
    let progress = bar("zones", zones.len());
    for item in zones {
        let origin = match convert::judge(&item, flags.common.unsign) {
            Verdict::Take(origin) => origin,
            Verdict::LeaveOut(reason) => {
                leave_out(&mut migration, &item.name, &flags.from, reason);
                progress.inc(1);
                continue;
            }
        };
        match source.zone(&item, &origin, &mut migration).await? {
            Ok(taken) => take(taken, flags.from.clone(), &flags.common, client, &mut migration).await?,
            Err(reason) => leave_out(&mut migration, &item.name, &flags.from, reason),
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let Some((old, new)) = servers {
        migration.comparison = Some(compare::run(compare::Old::Server(old), new, &migration).await?);
    }
    migration.print(format)
}

fn leave_out(migration: &mut Migration, zone: &str, source: &str, reason: String) {
    match crate::wire::name::Name::parse(zone) {
        Ok(name) => migration.leave_out_zone(&name, source.to_owned(), &reason),
        Err(_) => {
            let (zone, rtype) = (zone.to_owned(), String::new());
            migration.findings.push(Finding {
                name: zone.clone(),
                zone: zone.clone(),
                rtype,
                what: What::LeftOut,
                reason,
            });
            let outcome = report::Outcome::LeftOut;
            migration.rows.push(Row { zone, source: source.to_owned(), records: 0, outcome });
        }
    }
}

/// Where PowerDNS answers.
async fn old_server(flags: &Flags) -> Result<SocketAddr, Failure> {
    if let Some(address) = flags.old_dns {
        return Ok(address);
    }
    let wrong = |what: String| Failure::Usage(format!("{what}: give --old-dns ADDRESS, or --no-compare"));
    let url = reqwest::Url::parse(&flags.from).map_err(|error| Failure::Usage(format!("--from is no URL: {error}")))?;
    let host = url.host_str().ok_or_else(|| wrong("--from names no host".to_owned()))?;
    let host = host.trim_matches(['[', ']']).to_owned();
    let found = tokio::net::lookup_host((host.as_str(), 53)).await;
    let mut found = found.map_err(|error| wrong(format!("{host} cannot be found: {error}")))?;
    found.next().ok_or_else(|| wrong(format!("{host} has no address")))
}

impl Source {
    fn new(flags: &Flags) -> Result<Source, Failure> {
        let root = flags.from.trim_end_matches('/');
        if !root.starts_with("http://") {
            return Err(Failure::Usage(format!("{root} is no URL that this version can ask: it starts with http://")));
        }
        let root = root.strip_suffix("/api/v1").unwrap_or(root);
        let key = match &flags.key_file {
            Some(file) => {
                let octets = read_file(file, MAX_KEY_FILE)
                    .map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
                String::from_utf8_lossy(&octets).trim().to_owned()
            }
            None => std::env::var("TENURED_POWERDNS_KEY").map_err(|_| {
                Failure::Usage("give its API key with --key-file FILE or TENURED_POWERDNS_KEY".to_owned())
            })?,
        };
        // It may be another machine, but never one behind a proxy for the web.
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .timeout(ANSWER_TIME)
            .user_agent(concat!("tenured/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::failed(format!("the HTTP client could not be made: {error}")))?;
        Ok(Source { http, root: format!("{root}/api/v1{}", path(&["servers", &flags.server])), key })
    }

    /// A document, or a failure that says what to do.
    async fn get<T: DeserializeOwned>(&self, below: &str) -> Result<T, Failure> {
        let url = format!("{}{below}", self.root);
        let (status, body) = self.ask(&url).await?;
        match status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED => {
                return Err(Failure::NoToken(format!("{url}: PowerDNS does not know this API key")));
            }
            StatusCode::NOT_FOUND => {
                return Err(Failure::Failed {
                    what: format!("{url}: PowerDNS answered 404"),
                    advice: Some(
                        "give its own server id with --server, and its webserver's address with --from".to_owned(),
                    ),
                });
            }
            other => return Err(Failure::failed(format!("{url}: PowerDNS answered {other}"))),
        }
        serde_json::from_slice(&body)
            .map_err(|error| Failure::failed(format!("{url}: the answer is not PowerDNS's: {error}")))
    }

    async fn ask(&self, url: &str) -> Result<(StatusCode, Vec<u8>), Failure> {
        let broken = |error: &reqwest::Error| {
            let mut cause: &dyn std::error::Error = error;
            while let Some(source) = cause.source() {
                cause = source;
            }
            Failure::Unavailable(format!("no answer from PowerDNS at {url}: {cause}"))
        };
        let request = self.http.get(url).header("X-API-Key", &self.key).header("Accept", "application/json");
        let mut response = request.send().await.map_err(|error| broken(&error))?;
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| broken(&error))? {
            body.extend_from_slice(&part);
            if body.len() > MAX_ANSWER {
                return Err(Failure::failed(format!("{url}: the answer has over {MAX_ANSWER} octets")));
            }
        }
        Ok((response.status(), body))
    }

    /// A zone with its metadata; the inner error is why it cannot be taken.
    async fn zone(
        &self,
        item: &ZoneItem,
        origin: &crate::wire::name::Name,
        migration: &mut Migration,
    ) -> Result<Result<Taken, String>, Failure> {
        let below = path(&["zones", &item.id]);
        let document: ZoneDocument = match self.get(&below).await {
            Ok(document) => document,
            // One zone that it cannot show is no reason to leave the others.
            Err(Failure::Failed { what, .. }) => return Ok(Err(what)),
            Err(failure) => return Err(failure),
        };
        let taken = convert::zone(origin, document, &mut migration.findings);
        // Servers older than metadata in the API answer 404.
        let rows: Vec<MetadataDocument> = match self.get(&format!("{below}/metadata")).await {
            Ok(rows) => rows,
            Err(Failure::Failed { .. }) => Vec::new(),
            Err(failure) => return Err(failure),
        };
        convert::metadata(origin, &rows, &mut migration.findings);
        Ok(taken)
    }
}
