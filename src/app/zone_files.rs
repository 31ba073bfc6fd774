//! `serve --zones DIR`: each zone file whose zone is not in the store yet is imported before the server is ready.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::includes::{self, Includes};
use crate::control::{Handle, Request};
use crate::ledger::actor::{Actor, Door};
use crate::ledger::command::{Command, ImportZone, OnConflict};
use crate::telemetry::out;
use crate::wire::name::Name;
use crate::zone::file::{Finding, ZoneFile, read};

/// Imports on their way to the controller at a time: they are committed together.
const IN_FLIGHT: usize = 256;
/// With more files than that only what went wrong is printed file by file.
const LISTED: usize = 20;

/// What became of one file.
enum Became {
    Imported { zone: Name, records: usize, warnings: Vec<Finding> },
    AlreadyThere,
    LeftOut(Vec<String>),
}

/// Imports the folder's `*.zone` files. A faulty file is left out with its errors; the error is about the folder.
pub(super) async fn import(handle: &Handle, folder: &Path) -> Result<(), String> {
    let files = zone_files(folder)?;
    let many = files.len() > LISTED;
    let mut tasks = JoinSet::new();
    let (mut imported, mut there, mut left_out) = (0, 0, 0);
    let mut waiting = files.into_iter();
    loop {
        while tasks.len() < IN_FLIGHT
            && let Some(file) = waiting.next()
        {
            let handle = handle.clone();
            tasks.spawn(async move {
                let became = import_file(&handle, &file).await;
                (file, became)
            });
        }
        let Some(ended) = tasks.join_next().await else { break };
        let (file, became) = ended.map_err(|error| format!("an import ended early: {error}"))?;
        let file = file.display();
        match became {
            Became::Imported { zone, records, warnings } => {
                imported += 1;
                if !many {
                    out!("imported {zone} from {file}: {records} records");
                }
                for warning in warnings {
                    tracing::warn!("{warning}");
                }
            }
            Became::AlreadyThere => there += 1,
            Became::LeftOut(errors) => {
                left_out += 1;
                out!("left out {file}:");
                for error in errors {
                    out!("         {error}");
                }
            }
        }
    }
    if many || there > 0 || left_out > 0 {
        let folder = folder.display();
        out!("imports  {imported} from {folder}, {there} in the store already, {left_out} left out");
    }
    Ok(())
}

fn zone_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("--zones {}: {error}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("--zones {}: {error}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "zone") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

async fn import_file(handle: &Handle, path: &Path) -> Became {
    let origin = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| Name::parse(stem).ok());
    let published = handle.published();
    let is_there = |zone: &Name| published.load().zone(zone).is_some();
    if origin.as_ref().is_some_and(is_there) {
        return Became::AlreadyThere;
    }
    let owned = path.to_owned();
    let read = tokio::task::spawn_blocking(move || read_file(&owned, origin.as_ref())).await;
    let file = match read {
        Ok(Ok(file)) => file,
        Ok(Err(errors)) => return Became::LeftOut(errors),
        Err(error) => return Became::LeftOut(vec![format!("reading ended early: {error}")]),
    };
    let ZoneFile { origin: zone, rrsets, warnings } = file;
    if is_there(&zone) {
        return Became::AlreadyThere;
    }
    let records = rrsets.iter().map(|(_, rrset)| rrset.records.len()).sum();
    let command = Command::ImportZone(ImportZone {
        origin: zone.clone(),
        rrsets: Arc::new(rrsets),
        owner: None,
        prune: true,
        atomic: true,
        on_conflict: OnConflict::Reject,
        max_deletes: None,
    });
    let actor = Actor { door: Door::ZoneFile, ..Actor::server() };
    match handle.submit(Request { command, actor, dry_run: false, request_id: String::new() }).await {
        Ok(report) if !report.summary.has_refused() => Became::Imported { zone, records, warnings },
        Ok(report) => Became::LeftOut(
            report
                .results
                .iter()
                .filter_map(|item| {
                    item.problem.as_ref().map(|why| format!("{} {}: {}", item.name, item.rtype, why.detail))
                })
                .collect(),
        ),
        Err(refusal) => Became::LeftOut(vec![refusal.problem.detail]),
    }
}

fn read_file(path: &Path, origin: Option<&Name>) -> Result<ZoneFile, Vec<String>> {
    let shown = path.display().to_string();
    let text = includes::read_file(path, includes::MAX_FILE).map_err(|error| vec![format!("{shown}: {error}")])?;
    let mut includes = Includes::below(path);
    read(&text, &shown, origin, &mut includes).map_err(|errors| errors.iter().map(|error| error.to_string()).collect())
}
