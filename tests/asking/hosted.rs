//! Zones and Snapshots from text.

use std::sync::Arc;

use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;
use tenured::zone::addresses::Addresses;
use tenured::zone::alias::{AliasEntry, AliasRecord, AliasState, Family, FamilyAnswer, Moment, TargetKey};
use tenured::zone::content::Zone;
use tenured::zone::file::{NoInclude, read};
use tenured::zone::node::RRset;
use tenured::zone::policy::Policy;
use tenured::zone::snapshot::Snapshot;

use super::{key, name};

/// How a zone is put together.
pub struct Hosting {
    /// The store's number of its owner, who holds its ALIAS records too.
    pub owner: u32,
    /// Families that its ALIAS records flatten.
    pub families: Vec<Family>,
    /// Whether its SOA is taken out, which no door lets happen.
    pub without_soa: bool,
}

impl Default for Hosting {
    fn default() -> Hosting {
        Hosting { owner: 1, families: Family::BOTH.to_vec(), without_soa: false }
    }
}

/// A zone from the text of a zone file. The apex is where its SOA stands; a zone without SOA stands at `origin`.
pub fn zone(text: &str, origin: &Name, hosting: &Hosting) -> Arc<Zone> {
    let file = read(text.as_bytes(), "zone", Some(origin), &mut NoInclude)
        .unwrap_or_else(|errors| panic!("zone {origin}: {}", errors[0]));
    let mut zone = Zone::new(file.origin, key(), hosting.owner);
    let mut rrsets = file.rrsets;
    rrsets.retain(|(_, rrset)| !hosting.without_soa || rrset.rtype != Rtype::SOA);
    for (_, rrset) in rrsets.iter_mut().filter(|(_, rrset)| rrset.rtype == Rtype::ALIAS) {
        publish_alias(rrset, hosting);
    }
    for group in rrsets.chunk_by(|left, right| left.0 == right.0) {
        let here: Vec<RRset> = group.iter().map(|(_, rrset)| rrset.clone()).collect();
        zone.set(&group[0].0, &here);
    }
    Arc::new(zone)
}

/// The published form of an ALIAS, of which a zone file has the target alone.
fn publish_alias(rrset: &mut RRset, hosting: &Hosting) {
    for record in &mut rrset.records {
        let target = std::mem::take(record);
        let alias = AliasRecord {
            a: hosting.families.contains(&Family::A),
            aaaa: hosting.families.contains(&Family::Aaaa),
            // As many as a static RRset has, so that the two can be compared.
            policy: Policy { max_addresses: 64, ..Policy::default() },
            ..AliasRecord::plain(target, vec![hosting.owner])
        };
        *record = alias.encode();
    }
}

/// A Snapshot of zones, each given as its origin and its text.
pub fn snapshot(zones: &[(&str, &str)]) -> Snapshot {
    let mut snapshot = Snapshot::new(key());
    for (origin, text) in zones {
        snapshot.put_zone(zone(text, &name(origin), &Hosting::default()));
    }
    snapshot
}

/// What is known of one family of a target, from words: a state, addresses, and of these three each at most once:
/// `hold=` seconds it may be kept, `age=` seconds since it was fetched, `ok` for a last good answer without addresses.
pub fn family_answer(words: &[&str], now: Moment) -> FamilyAnswer {
    let mut answer = FamilyAnswer::pending(now);
    answer.state = state(words[0]);
    let mut good = matches!(answer.state, AliasState::Resolved | AliasState::NoData);
    let (mut hold, mut age) = (60_u32, 0_u64);
    let mut addresses = Vec::new();
    for word in &words[1..] {
        match word.split_once('=') {
            Some(("hold", seconds)) => hold = seconds.parse().expect("seconds"),
            Some(("age", seconds)) => age = seconds.parse().expect("seconds"),
            None if *word == "ok" => good = true,
            None => {
                good = true;
                match word.parse().unwrap_or_else(|_| panic!("an address or hold=, age=, ok instead of {word}")) {
                    std::net::IpAddr::V4(address) => addresses.extend_from_slice(&address.octets()),
                    std::net::IpAddr::V6(address) => addresses.extend_from_slice(&address.octets()),
                }
            }
            Some((other, _)) => panic!("hold= or age= instead of {other}="),
        }
    }
    let fetched = Moment(now.0 - age * 1000);
    let family = if addresses.len() % 16 == 0 { Family::Aaaa } else { Family::A };
    answer.addresses = Addresses::new(&addresses, family);
    answer.since = fetched;
    answer.checked = Some(fetched);
    answer.last_ok = good.then_some(fetched);
    answer.ttl = hold;
    answer.highest_ttl = hold;
    answer
}

fn state(word: &str) -> AliasState {
    AliasState::ALL
        .into_iter()
        .find(|state| state.text().eq_ignore_ascii_case(word))
        .unwrap_or_else(|| panic!("state {word}"))
}

/// An entry of a target; a family of which nothing is said is Pending.
pub fn entry(target: &str, a: Option<FamilyAnswer>, aaaa: Option<FamilyAnswer>, now: Moment) -> Arc<AliasEntry> {
    let pending = || FamilyAnswer::pending(now);
    Arc::new(AliasEntry {
        target: TargetKey::of(name(target)),
        a: a.unwrap_or_else(pending),
        aaaa: aaaa.unwrap_or_else(pending),
        asked: Arc::default(),
    })
}
