//! `POST /records`: one transaction, and a verdict for each record.

use std::collections::HashMap;

use super::Call;
use super::adjust::check_count;
use super::canonical::{Canonical, canonical};
use super::failure::Failure;
use super::memory::Pairs;
use super::registry::{self, Kind, NONCE, Nonces, Types};
use super::wire::{Changes, Endpoint};
use crate::api::call::blocking;
use crate::api::documents::ItemDocument;
use crate::api::show;
use crate::ledger::claim::ClaimState;
use crate::ledger::command::{BadWish, Change, Command, RecordName, Wish};
use crate::ledger::external_dns::{ChangeEndpoints, DoorTerms, OWNER, RegistryText};
use crate::ledger::report::{Item, ItemOutcome, Report};
use crate::store::rows::ClaimFilter;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::snapshot::Snapshot;

/// The items of a problem that are given back.
const MAX_SHOWN: usize = 1_000;

pub(super) async fn answer(call: Call) -> Result<(), Failure> {
    let body = call.body.clone();
    let read = blocking(move || serde_json::from_slice::<Changes>(&body));
    let changes = read.await.map_err(|_| Failure::Internal)?;
    let changes = changes.map_err(|error| Failure::Malformed(format!("the changes: {error}")))?;
    check_count(changes.len())?;
    let nonces = nonces(&call, &changes).await?;
    let (terms, served) = (call.client.terms, call.state.handle.published().get());
    let (owner, name) = (call.client.owner.clone(), call.client.name.clone());
    let work = blocking(move || {
        let pairs = Pairs::of(&changes);
        let mut reading = Reading { nonces, terms, absorbed: Vec::new() };
        let asked = reading.asked(changes, Change::delete(owner, Vec::new()), name, &served);
        (asked, pairs)
    });
    let (asked, pairs) = work.await.map_err(|_| Failure::Internal)?;
    let keys = changed_keys(&asked);
    let report = call.submit(Command::ChangeEndpoints(asked)).await.map_err(Failure::Refused)?;
    note(&call, &report, &pairs, keys);
    if report.results.iter().any(is_error) {
        let refused = report.results.iter().filter(|item| is_error(item)).take(MAX_SHOWN);
        return if call.is_dry() { Ok(()) } else { Err(Failure::Records(refused.map(shown).collect())) };
    }
    Ok(())
}

/// Whether an item makes an error of the answer: a wish that waits does not.
fn is_error(item: &Item) -> bool {
    item.outcome.is_refused() && item.outcome != ItemOutcome::Queued
}

/// An item with the type that it has in the protocol.
fn shown(item: &Item) -> ItemDocument {
    let mut shown = show::item(item, Some(&item.owner));
    if shown.rtype == Rtype::ALIAS.to_string() {
        shown.rtype = Rtype::CNAME.to_string();
    }
    shown
}

fn changed_keys(asked: &ChangeEndpoints) -> Vec<(String, bool)> {
    let created = asked.change.upsert.iter().flatten().map(|wish| (format!("{} {}", wish.name, wish.rtype), true));
    created.chain(asked.change.delete.iter().map(|one| (format!("{} {}", one.name, one.rtype), false))).collect()
}

fn note(call: &Call, report: &Report, pairs: &Pairs, keys: Vec<(String, bool)>) {
    let (memory, now) = (&call.state.external_dns, call.state.clock.now());
    let items: Vec<ItemDocument> = report.results.iter().map(shown).collect();
    let summary = show::summary(&report.summary);
    if call.is_dry() {
        memory.planned(&call.client.owner, now, report.revision, summary, items);
        return;
    }
    let refused: Vec<ItemDocument> = items.into_iter().filter(|item| item.code.is_some()).collect();
    for item in refused.iter().take(MAX_SHOWN) {
        tracing::warn!(
            owner = ?call.client.owner.as_str(), name = item.name, rtype = item.rtype, outcome = item.outcome,
            code = item.code.as_deref().unwrap_or_default(),
            holder = item.holder.as_ref().map(|holder| holder.owner.as_str()).unwrap_or_default(),
            "a record of external-dns"
        );
    }
    tracing::info!(
        token = call.client.actor.token, owner = ?call.client.owner.as_str(), request = ?call.request_id,
        revision = report.revision, created = summary.created, updated = summary.updated, unchanged = summary.unchanged,
        deleted = summary.deleted, absorbed = summary.absorbed, queued = summary.queued, conflict = summary.conflict,
        invalid = summary.invalid, held = summary.held, "external-dns"
    );
    memory.changed(&call.client, now, report.revision, summary, refused, pairs, keys);
}

/// Nonces by which encrypted registry texts are known: those of the request, and, if there is a text that those do not
/// explain, those of the owner's claims.
async fn nonces(call: &Call, changes: &Changes) -> Result<Nonces, Failure> {
    let all = || [&changes.create, &changes.update_old, &changes.update_new, &changes.delete].into_iter().flatten();
    let mut nonces = Nonces::default();
    nonces.add_all(all());
    if all().any(|one| registry::kind(one) == Kind::Encrypted && !registry::is_known(one, &nonces)) {
        let filter = ClaimFilter { owner: Some(call.client.owner.clone()), ..ClaimFilter::default() };
        let listing = call.state.reader.claims(&filter).await?;
        let known = listing.items.iter().filter(|row| row.claim.state != ClaimState::Quarantined);
        known.filter_map(|row| row.claim.labels.get(NONCE)).for_each(|label| nonces.add(label));
    }
    Ok(nonces)
}

type Key = (Name, Rtype, String);

struct Reading {
    nonces: Nonces,
    terms: DoorTerms,
    absorbed: Vec<RegistryText>,
}

impl Reading {
    fn asked(&mut self, changes: Changes, change: Change, name: String, served: &Snapshot) -> ChangeEndpoints {
        let pin = changes.create.iter().find_map(|one| one.labels.get(OWNER)).filter(|text| !text.is_empty()).cloned();
        let mut upsert: Vec<Result<Wish, BadWish>> = Vec::new();
        let mut places: HashMap<Key, usize> = HashMap::new();
        for list in [changes.create, changes.update_new] {
            for one in self.without_registry(list) {
                let Canonical { wish, key, endpoint } = canonical(one, &self.terms, served);
                let key = key.map(|(name, rtype)| (name, rtype, endpoint.set_identifier));
                // The later one of a key counts: an update behind a create.
                match key.as_ref().and_then(|key| places.get(key)) {
                    Some(at) => upsert[*at] = wish,
                    None => {
                        if let Some(key) = key {
                            places.insert(key, upsert.len());
                        }
                        upsert.push(wish);
                    }
                }
            }
        }
        let (mut delete, mut delete_owners) = (Vec::new(), Vec::new());
        let kept = self.absorbed.len();
        for one in self.without_registry(changes.delete) {
            let Canonical { key, endpoint, .. } = canonical(one, &self.terms, served);
            // What has no name that can be read is not there to delete.
            let Some((name, rtype)) = key else { continue };
            delete.push(RecordName { zone: None, name, rtype, set_id: Some(endpoint.set_identifier) });
            delete_owners.push(endpoint.labels.get(OWNER).cloned());
        }
        // What is deleted with its record is kept with nothing.
        self.absorbed[kept..].iter_mut().for_each(|text| text.about = None);
        ChangeEndpoints {
            change: Change { upsert, delete, atomic: false, on_conflict: self.terms.on_conflict, ..change },
            delete_owners,
            pin,
            default_txt_owner: name,
            absorbed: std::mem::take(&mut self.absorbed),
            adopting: self.terms.adopting,
            brake: self.terms.brake,
        }
    }

    fn without_registry(&mut self, list: Vec<Endpoint>) -> Vec<Endpoint> {
        let is_registry = |one: &Endpoint| match registry::kind(one) {
            Kind::Registry => true,
            Kind::Encrypted => registry::is_known(one, &self.nonces),
            Kind::Data => false,
        };
        let (texts, data): (Vec<Endpoint>, Vec<Endpoint>) = list.into_iter().partition(is_registry);
        let types = Types::of(&data);
        self.absorbed.extend(texts.iter().map(|one| registry::text(one, &types)));
        data
    }
}
