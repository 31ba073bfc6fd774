//! `tenured owner …`.

use std::collections::BTreeMap;

use clap::Subcommand;
use reqwest::Method;

use super::client::{Body, Client, path};
use super::failure::Failure;
use super::output::{self, Format};
use super::report;
use crate::api::documents::{DeletedDocument, List, OwnerDocument};

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
        /// Show what would go, and do nothing
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
        Command::Delete { owner, cascade, dry_run } => {
            let mut query: Vec<(&str, &str)> = Vec::new();
            if cascade {
                query.push(("cascade", "true"));
            }
            if dry_run {
                query.push(("dryRun", "true"));
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
