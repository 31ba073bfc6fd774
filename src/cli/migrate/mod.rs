//! `tenured migrate …`: zones of another server, with a report of what could not be taken and a comparison of answers.

mod answers;
mod ask;
mod beside;
mod compare;
mod convert;
mod powerdns;
mod report;
mod write;
mod zone_files;

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::net::SocketAddr;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::client::Client;
use super::failure::Failure;
use super::output::Format;
use crate::config::Config;
use crate::wire::name::Name;
use crate::zone::node::RRset;
use report::{Migration, Outcome, Row};

/// Zones from other servers.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Take zones out of a PowerDNS server by its HTTP API
    Powerdns(powerdns::Flags),
    /// Take zones out of zone files
    Zonefiles(zone_files::Flags),
}

/// What all sources have in common.
#[derive(Args, Debug)]
pub(in crate::cli) struct Common {
    /// Owner of the zones and of all records taken: that of a controller's key, so that it goes on writing them
    /// [default: zone:<zone>]
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Only this zone; may repeat [default: all]
    #[arg(long = "zone", value_name = "ZONE")]
    zones: Vec<String>,
    /// Show what would come of it, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Let so many records of a zone be deleted that are gone from the source since an earlier run
    #[arg(long, value_name = "N")]
    max_deletes: Option<u64>,
    /// Take signed zones too, without their signatures: remove the DS at the parent first
    #[arg(long)]
    unsign: bool,
    /// Where this server answers DNS [default: the first address of dns.listen]
    #[arg(long, value_name = "ADDRESS")]
    new_dns: Option<SocketAddr>,
    /// Do not compare answers
    #[arg(long)]
    no_compare: bool,
}

/// A zone as it will be written.
#[derive(Debug)]
pub(super) struct Taken {
    /// The apex.
    origin: Name,
    /// RRsets in canonical order; ALIAS as its target, the SOA with the serial that the source serves.
    rrsets: Vec<(Name, RRset)>,
    /// What each name and type was asked for there, also where it was left out.
    keys: BTreeSet<compare::Question>,
    /// Comments and disabled records.
    beside: Vec<beside::Beside>,
}

impl Taken {
    fn records(&self) -> usize {
        self.rrsets.iter().map(|(_, rrset)| rrset.records.len()).sum()
    }
}

pub(super) async fn run(command: Command, client: &Client, config: &Config, format: Format) -> Result<(), Failure> {
    match command {
        Command::Powerdns(flags) => powerdns::run(flags, client, config, format).await,
        Command::Zonefiles(flags) => zone_files::run(flags, client, config, format).await,
    }
}

impl Common {
    /// The zones that were named; empty takes all.
    fn wanted(&self) -> Result<BTreeSet<Name>, Failure> {
        let name = |text: &String| {
            Name::parse(text).map_err(|error| Failure::Usage(format!("--zone {text} is no domain name: {error}")))
        };
        self.zones.iter().map(name).collect()
    }

    /// Where this server answers, as this machine reaches it.
    fn new_server(&self, config: &Config) -> Result<SocketAddr, Failure> {
        let mut address = match (self.new_dns, config.dns.listen.first()) {
            (Some(address), _) | (None, Some(&address)) => address,
            (None, None) => return Err(Failure::Usage("dns.listen is empty: give --new-dns ADDRESS".to_owned())),
        };
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        Ok(address)
    }
}

/// A bar on a terminal, and nothing elsewhere.
fn bar(what: &'static str, length: usize) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target).with_message(what);
    match ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Writes one zone and notes what came of it. A refusal of the whole zone is a row, and the next zone goes on; what would
/// refuse each zone ends the run.
async fn take(
    taken: Taken,
    source: String,
    common: &Common,
    client: &Client,
    into: &mut Migration,
) -> Result<(), Failure> {
    let (zone, records) = (taken.origin.to_string(), taken.records());
    let written = write::zone(&taken, common, client, into).await;
    let outcome = match written {
        Ok(outcome) => outcome,
        Err(Failure::Problem(problem)) if !matches!(problem.status, 401 | 429 | 500..) => {
            into.leave_out_zone(&taken.origin, source, &problem.detail);
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    if !common.dry_run {
        beside::write(&taken, common, client, into).await?;
    }
    into.rows.push(Row { zone, source, records, outcome });
    if outcome != Outcome::LeftOut {
        into.zones.push(taken);
    }
    Ok(())
}
