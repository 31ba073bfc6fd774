//! Owners as the forest that they are.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::ask::with_parameters;
use super::forms::{Place, places};
use super::frame::{Frame, Visit, quoted};
use super::{Fields, Ui};
use crate::api::documents::{OwnerDocument, ProblemDocument, RecordDocument};
use crate::api::paging::PageDocument;

/// Owners of one page.
const OWNERS: &str = "1000";

/// A row of the tree.
struct Branch {
    /// Steps below the top, at most 12.
    depth: usize,
    owner: OwnerDocument,
}

#[derive(Template)]
#[template(path = "owners.html")]
struct View<'a> {
    f: &'a Frame,
    branches: Vec<Branch>,
    next: String,
}

#[derive(Template)]
#[template(path = "owner.html")]
struct One<'a> {
    f: &'a Frame,
    owner: OwnerDocument,
    children: Vec<OwnerDocument>,
    records: Vec<(RecordDocument, Place)>,
    more: bool,
}

/// The tree, or one owner.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "owners", &fields).await;
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    if !given("owner").is_empty() {
        let owner = given("owner");
        f.reads(&format!("owner show {}", quoted(owner)), &format!("/v1/owners/{}", f.enc(owner)));
        return match one(&f, owner).await {
            Ok((owner, children, records, more)) => {
                f.show(StatusCode::OK, &One { f: &f, owner, children, records: places(records), more })
            }
            Err(problem) => f.failed(&problem),
        };
    }
    f.reads("owner tree", "/v1/owners");
    let path = with_parameters("/v1/owners", &[("limit", OWNERS), ("continue", given("continue"))]);
    match f.asker.get::<PageDocument<OwnerDocument>>(&path).await {
        Err(problem) => f.failed(&problem),
        Ok(page) => {
            let next = page.next.map(|next| with_parameters("/ui/owners", &[("continue", &next)])).unwrap_or_default();
            f.show(StatusCode::OK, &View { f: &f, branches: tree(page.items), next })
        }
    }
}

type Shown = (OwnerDocument, Vec<OwnerDocument>, Vec<RecordDocument>, bool);

async fn one(f: &Frame, id: &str) -> Result<Shown, Box<ProblemDocument>> {
    let encoded = f.enc(id);
    let owner = f.asker.get::<OwnerDocument>(&format!("/v1/owners/{encoded}")).await?;
    let path = with_parameters("/v1/owners", &[("parent", id), ("limit", "200")]);
    let children = f.asker.get::<PageDocument<OwnerDocument>>(&path).await?;
    let records =
        f.asker.get::<PageDocument<RecordDocument>>(&format!("/v1/owners/{encoded}/records?limit=100")).await?;
    Ok((owner, children.items, records.items, records.next.is_some()))
}

/// Owners in the order of a tree. One whose parent is not on the page stands at the top.
fn tree(owners: Vec<OwnerDocument>) -> Vec<Branch> {
    let known: BTreeSet<String> = owners.iter().map(|owner| owner.id.clone()).collect();
    let mut below: BTreeMap<String, Vec<OwnerDocument>> = BTreeMap::new();
    for owner in owners {
        let parent = owner.parents.first().filter(|parent| known.contains(*parent)).cloned().unwrap_or_default();
        below.entry(parent).or_default().push(owner);
    }
    let mut waiting: Vec<(usize, OwnerDocument)> =
        below.remove("").unwrap_or_default().into_iter().rev().map(|owner| (0, owner)).collect();
    let mut branches = Vec::new();
    while let Some((depth, owner)) = waiting.pop() {
        let children = below.remove(&owner.id).unwrap_or_default();
        waiting.extend(children.into_iter().rev().map(|child| (depth + 1, child)));
        branches.push(Branch { depth: depth.min(12), owner });
    }
    branches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_below_their_parent_and_strangers_at_the_top() {
        let owner = |id: &str, parents: &[&str]| OwnerDocument {
            id: id.to_owned(),
            parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
            ..OwnerDocument::default()
        };
        let owners = vec![
            owner("a", &["z"]),
            owner("b", &["z"]),
            owner("lost", &["elsewhere"]),
            owner("under-a", &["a", "z"]),
            owner("z", &[]),
        ];
        let rows: Vec<(usize, String)> = tree(owners).into_iter().map(|row| (row.depth, row.owner.id)).collect();
        let expected = [(0, "lost"), (0, "z"), (1, "a"), (2, "under-a"), (1, "b")];
        assert_eq!(rows, expected.map(|(depth, id)| (depth, id.to_owned())));
    }
}
