//! `tenured migrate zonefiles`: zones of files, as other servers keep them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;

use super::super::client::Client;
use super::super::failure::Failure;
use super::super::output::Format;
use super::compare::Question;
use super::report::{Finding, Migration, What};
use super::{Common, Taken, bar, compare, take};
use crate::app::includes::{Includes, MAX_FILE, read_file};
use crate::config::Config;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::file;

/// Most files of one run: as many as a server can have zones.
const MAX_FILES: usize = 1_000_000;

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// Folders with files named <zone>.zone or db.<zone>, or such files
    #[arg(required = true, value_name = "DIR")]
    paths: Vec<PathBuf>,
    /// Where the old server answers DNS; without it, answers are compared with the files themselves
    #[arg(long, value_name = "ADDRESS")]
    old_dns: Option<SocketAddr>,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(flags: Flags, client: &Client, config: &Config, format: Format) -> Result<(), Failure> {
    let wanted = flags.common.wanted()?;
    let new =
        if flags.common.no_compare || flags.common.dry_run { None } else { Some(flags.common.new_server(config)?) };
    let mut migration = Migration { dry_run: flags.common.dry_run, ..Migration::default() };
    let files = files(&flags.paths)?;
    let progress = bar("zones", files.len());
    for file in files {
        let source = file.display().to_string();
        match read(&file, flags.common.unsign, &mut migration.findings) {
            Ok(taken) if wanted.is_empty() || wanted.contains(&taken.origin) => {
                take(taken, source, &flags.common, client, &mut migration).await?;
            }
            Ok(_) => {}
            Err((zone, reasons)) => {
                let (first, others) =
                    reasons.split_first().map_or(("nothing in it", &[][..]), |(first, others)| (first, others));
                migration.leave_out_zone(&zone, source, first);
                for reason in others {
                    migration.findings.push(Finding::of_zone(&zone, What::LeftOut, reason.clone()));
                }
            }
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let Some(new) = new {
        let old = flags.old_dns.map_or(compare::Old::Content, compare::Old::Server);
        migration.comparison = Some(compare::run(old, new, &migration).await?);
    }
    migration.print(format)
}

/// The zone files of folders, and files named themselves, in the order of their names.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", path.display()));
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if file.is_file() && zone_of(&file).is_some() {
                found.push(file);
            }
        }
        if found.is_empty() {
            let what = format!("{} has no file named <zone>.zone or db.<zone>", path.display());
            return Err(Failure::Failed { what, advice: Some("name the files themselves".to_owned()) });
        }
        found.sort();
        files.append(&mut found);
    }
    if files.len() > MAX_FILES {
        return Err(Failure::Usage(format!("{} files: at most {MAX_FILES} in one run", files.len())));
    }
    Ok(files)
}

/// The zone that a file's name tells.
fn zone_of(file: &Path) -> Option<Name> {
    let name = file.file_name()?.to_str()?;
    let zone = name.strip_suffix(".zone").or_else(|| name.strip_prefix("db."))?;
    Name::parse(zone).ok()
}

/// A zone of a file; the error is the zone that it seems to be, and the reasons.
fn read(path: &Path, unsign: bool, findings: &mut Vec<Finding>) -> Result<Taken, (Name, Vec<String>)> {
    let shown = path.display().to_string();
    let origin = zone_of(path);
    let guessed = origin.clone().unwrap_or_else(Name::root);
    let text = read_file(path, MAX_FILE).map_err(|error| (guessed.clone(), vec![format!("{shown}: {error}")]))?;
    let zone = file::read(&text, &shown, origin.as_ref(), &mut Includes::below(path))
        .map_err(|errors| (guessed, errors.iter().map(ToString::to_string).collect::<Vec<_>>()))?;
    let is_signed = zone.rrsets.iter().any(|(_, rrset)| rrset.rtype == Rtype::DNSKEY);
    if is_signed && !unsign {
        let reason = "it is signed: without signatures resolvers would refuse it as long as its parent has a DS; remove \
                      that, wait for its TTL, and add --unsign";
        return Err((zone.origin, vec![reason.to_owned()]));
    }
    for warning in &zone.warnings {
        findings.push(Finding::of_zone(&zone.origin, What::Odd, warning.to_string()));
    }
    // What a signer left: 59 and 60 are CDS and CDNSKEY (RFC 7344).
    let is_of_signatures = |rtype: Rtype| matches!(rtype, Rtype::DNSKEY | Rtype(59 | 60));
    let rrsets: Vec<_> = zone.rrsets.into_iter().filter(|(_, rrset)| !is_of_signatures(rrset.rtype)).collect();
    let keys: BTreeSet<Question> =
        rrsets.iter().map(|(name, rrset)| Question { name: name.clone(), rtype: rrset.rtype }).collect();
    Ok(Taken { origin: zone.origin, rrsets, keys, beside: Vec::new() })
}
