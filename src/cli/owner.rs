//! `tenured owner …`.

use std::collections::BTreeMap;

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Body, Client, path};
use super::door_client;
use super::failure::Failure;
use super::output::{self, Format};
use super::report;
use crate::api::documents::{DeletedDocument, LeaseDocument, List, OwnerDocument, RenewedLeases, ReportDocument};
use crate::telemetry::note;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List owners
    List {
        /// Only those right below this one
        #[arg(long, value_name = "ID")]
        parent: Option<String>,
        /// Only in this state
        #[arg(long, value_name = "STATE", value_parser = ["active", "expired", "deleting"])]
        state: Option<String>,
    },
    /// Show an owner
    Show {
        /// Its id
        owner: String,
    },
    /// Show what the external-dns door knows of an owner's client: calls, the last change, holds, waiting records
    Client {
        /// Its id, as externaldns:prod
        owner: String,
    },
    /// Show who is above whom
    Tree {
        /// Only this one and what is below it
        owner: Option<String>,
    },
    /// Delete an owner with all its records
    Delete {
        /// Its id
        owner: String,
        /// And all owners below it
        #[arg(long)]
        cascade: bool,
        /// Give the records to this owner instead of deleting them
        #[arg(long, value_name = "ID")]
        release_to: Option<String>,
        /// Keep the records for 7 days, not served: the owner's next write of them restores them
        #[arg(long, conflicts_with = "release_to")]
        quarantine: bool,
        /// Refuse if records of this server would then point at nothing
        #[arg(long)]
        keep_targets: bool,
        /// Show what would go, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Renew the leases of owners and of all below them
    Renew {
        /// Their ids
        #[arg(required = true)]
        owners: Vec<String>,
    },
    /// Give records of one owner to another; what is served stays as it is
    Transfer {
        /// Whose records
        from: String,
        /// Who has them then
        to: String,
        /// Only those in this zone
        #[arg(long)]
        zone: Option<String>,
        /// Only those at this name
        #[arg(long)]
        name: Option<String>,
        /// Only those of this type
        #[arg(long = "type", value_name = "TYPE")]
        rtype: Option<String>,
        /// Show what would change hands, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) async fn run(command: Command, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Command::List { parent, state } => {
            let mut query: Vec<(&str, &str)> = Vec::new();
            query.extend(parent.as_deref().map(|parent| ("parent", parent)));
            query.extend(state.as_deref().map(|state| ("state", state)));
            let list: List<OwnerDocument> = client.get_all("/v1/owners", &query).await?;
            print_list(&list, format)
        }
        Command::Show { owner } => show(&client.get(&path(&["v1", "owners", &owner]), &[]).await?, format),
        Command::Client { owner } => {
            door_client::print(&client.get(&path(&["v1", "owners", &owner, "externaldns"]), &[]).await?, format)
        }
        Command::Tree { owner } => {
            let list: List<OwnerDocument> = client.get_all("/v1/owners", &[]).await?;
            if let Some(owner) = owner.as_deref().filter(|owner| !list.items.iter().any(|one| one.id == *owner)) {
                // The server's own words for an owner that is not there.
                let _: OwnerDocument = client.get(&path(&["v1", "owners", owner]), &[]).await?;
            }
            match format {
                Format::Json => output::print_json(&list),
                Format::Name => output::print_names(list.items.iter().map(|owner| owner.id.as_str())),
                Format::Table => output::print(&tree(&list.items, owner.as_deref())),
            }
        }
        Command::Renew { owners } => {
            let body = Body::Json(json!({ "owners": owners }));
            let (_, done): (_, RenewedLeases) = client.write(Method::POST, "/v1/leases/renew", &[], body).await?;
            print_renewed(&done, format)
        }
        Command::Transfer { from, to, zone, name, rtype, dry_run } => {
            let matching: serde_json::Map<String, Value> = [("zone", zone), ("name", name), ("type", rtype)]
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?))))
                .collect();
            let body = Body::Json(json!({ "from": from, "to": to, "match": matching }));
            let query: &[(&str, &str)] = if dry_run { &[("dryRun", "true")] } else { &[] };
            let (status, report): (_, ReportDocument) =
                client.write(Method::POST, "/v1/transfers", query, body).await?;
            report::print(status, &report, format)
        }
        Command::Delete { owner, cascade, release_to, quarantine, keep_targets, dry_run } => {
            let mut query: Vec<(&str, &str)> = Vec::new();
            if cascade {
                query.push(("cascade", "true"));
            }
            if dry_run {
                query.push(("dryRun", "true"));
            }
            if quarantine {
                query.push(("quarantine", "true"));
            }
            if keep_targets {
                query.push(("refs", "block"));
            }
            if let Some(heir) = &release_to {
                query.extend([("records", "release"), ("to", heir.as_str())]);
            }
            let path = path(&["v1", "owners", &owner]);
            let (_, deleted): (_, DeletedDocument) = client.write(Method::DELETE, &path, &query, Body::Nothing).await?;
            report::print_deleted(&deleted, &format!("owner {owner}"), format)
        }
    }
}

fn print_list(list: &List<OwnerDocument>, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(list),
        Format::Name => output::print_names(list.items.iter().map(|owner| owner.id.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|owner| {
                vec![
                    owner.id.clone(),
                    owner.kind.clone().unwrap_or_default(),
                    owner.claims.held.to_string(),
                    owner.claims.queued.to_string(),
                    owner.parents.first().cloned().unwrap_or_default(),
                    owner.state.clone(),
                ]
            });
            let nothing = "there are no such owners: the first write of an owner makes it";
            output::print_table(&["OWNER", "KIND", "HELD", "QUEUED", "PARENT", "STATE"], rows.collect(), nothing)
        }
    }
}

fn print_renewed(done: &RenewedLeases, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(done)?,
        Format::Name => output::print_names(done.renewed.iter().map(|one| one.owner.as_str()))?,
        Format::Table => {
            let rows = done.renewed.iter().map(|one| vec![one.owner.clone(), one.expires_at.clone()]);
            output::print_table(&["OWNER", "LEASE ENDS"], rows.collect(), "none of these owners has a lease")?;
        }
    }
    for owner in &done.unknown {
        note!("there is no owner {owner}");
    }
    Ok(())
}

fn show(owner: &OwnerDocument, format: Format) -> Result<(), Failure> {
    let claims = owner.claims;
    let labels: Vec<String> = owner.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let source = owner.source.clone().unwrap_or_default();
    let source: Vec<String> =
        [source.cluster, source.namespace, source.kind, source.name].into_iter().flatten().collect();
    match format {
        Format::Json => output::print_json(owner),
        Format::Name => output::print_names([owner.id.as_str()].into_iter()),
        Format::Table => output::print_pairs(&[
            ("owner", owner.id.clone()),
            ("kind", owner.kind.clone().unwrap_or_default()),
            ("uid", owner.uid.clone().unwrap_or_default()),
            ("belongs to", owner.parents.join("\n")),
            ("source", source.join("/")),
            ("labels", labels.join("\n")),
            ("state", owner.state.clone()),
            ("lease", owner.lease.as_ref().map(lease).unwrap_or_default()),
            ("holds", sets(claims.held)),
            ("waits for", if claims.queued > 0 { sets(claims.queued) } else { String::new() }),
            ("owners below", if owner.children > 0 { owner.children.to_string() } else { String::new() }),
            ("generation", owner.generation.map(|generation| generation.to_string()).unwrap_or_default()),
            ("epoch", owner.epoch.map(|epoch| epoch.to_string()).unwrap_or_default()),
            ("created", owner.created_at.clone()),
            ("last asked", owner.asserted_at.clone()),
            ("revision", owner.revision.to_string()),
        ]),
    }
}

fn lease(lease: &LeaseDocument) -> String {
    let (seconds, grace) = (lease.lease_seconds, lease.grace_seconds);
    let end = match &lease.expired_at {
        None => format!("ends {}", lease.expires_at),
        Some(at) => format!("ran out, found at {at}"),
    };
    format!("{seconds} s, {end}; after {grace} s more: {}", lease.on_expiry)
}

fn sets(count: u64) -> String {
    if count == 1 { "1 record set".to_owned() } else { format!("{count} record sets") }
}

/// The forest as indented lines; of owners whose parent is not listed, the top. No recursion: the stack is a list.
fn tree(owners: &[OwnerDocument], only: Option<&str>) -> String {
    let mut below: BTreeMap<Option<&str>, Vec<&OwnerDocument>> = BTreeMap::new();
    for owner in owners {
        below.entry(owner.parents.first().map(String::as_str)).or_default().push(owner);
    }
    let mut stack: Vec<(&OwnerDocument, String, bool)> = match only {
        Some(id) => owners.iter().filter(|owner| owner.id == id).map(|owner| (owner, String::new(), true)).collect(),
        None => below.get(&None).into_iter().flatten().rev().map(|owner| (*owner, String::new(), true)).collect(),
    };
    let mut out = String::new();
    while let Some((owner, indent, is_top)) = stack.pop() {
        let kind = owner.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let held = if owner.claims.held > 0 { format!("  {} held", owner.claims.held) } else { String::new() };
        let queued = if owner.claims.queued > 0 { format!("  {} queued", owner.claims.queued) } else { String::new() };
        let branch = if is_top { "" } else { "└─ " };
        out.push_str(&format!("{indent}{branch}{}{kind}{held}{queued}\n", owner.id));
        let indent = if is_top { indent } else { format!("{indent}   ") };
        for child in below.get(&Some(owner.id.as_str())).into_iter().flatten().rev() {
            stack.push((child, indent.clone(), false));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::documents::CountsDocument;

    #[test]
    fn a_tree_shows_who_is_above_whom() {
        let owner = |id: &str, parents: &[&str], held| OwnerDocument {
            id: id.to_owned(),
            parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
            claims: CountsDocument { held, ..CountsDocument::default() },
            ..OwnerDocument::default()
        };
        let owners =
            [owner("a", &[], 0), owner("a/b", &["a"], 2), owner("a/b/c", &["a/b", "a"], 1), owner("a/d", &["a"], 0)];
        assert_eq!(tree(&owners, None), "a\n└─ a/b  2 held\n   └─ a/b/c  1 held\n└─ a/d\n");
        assert_eq!(tree(&owners, Some("a/b")), "a/b  2 held\n└─ a/b/c  1 held\n");
    }
}
