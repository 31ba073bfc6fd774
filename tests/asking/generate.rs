//! Zones and messages as properties draw them: few labels, so that names meet, and queries that are spoiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tenured::answer::Transport;
use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;
use tenured::wire::presentation::rdata_from_text;
use tenured::wire::rdata::canonical;
use tenured::zone::content::Zone;
use tenured::zone::node::RRset;
use tenured::zone::snapshot::Snapshot;

use super::model::ModelZone;
use super::query::{self, CLIENT_COOKIE, name_wire, plain};
use super::{NOW, hosted, key, name};

pub const APEX: &str = "zone.test.";
pub const TYPES: [&str; 10] = ["A", "AAAA", "NS", "CNAME", "DNAME", "MX", "TXT", "SRV", "DS", "ALIAS"];
pub const TRANSPORTS: [Transport; 2] = [Transport::Udp, Transport::Tcp];

/// A name of few labels, so that names meet: below the apex, the apex, and sometimes outside.
pub fn any_name() -> impl Strategy<Value = String> {
    let label = select(vec!["a", "b", "c", "*", "A", "\\000", "long-label-of-many-octets-that-fills-replies"]);
    let below = vec(label, 0..4).prop_map(|labels| {
        labels.into_iter().map(|label| format!("{label}.")).chain([APEX.to_owned()]).collect::<String>()
    });
    prop_oneof![12 => below, 1 => Just("a.outside.test.".to_owned()), 1 => Just(".".to_owned())]
}

/// A name of the zone.
pub fn own_name() -> impl Strategy<Value = String> {
    any_name().prop_filter("of the zone", |name| name.ends_with(APEX))
}

/// RDATA of a type from a target and a number.
fn rdata(rtype: &str, target: &str, number: u8) -> String {
    match rtype {
        "A" => format!("192.0.2.{number}"),
        "AAAA" => format!("2001:db8::{number:x}"),
        "MX" => format!("{number} {target}"),
        "SRV" => format!("0 {number} 53 {target}"),
        "TXT" => format!("\"{}\"", "t".repeat(usize::from(number))),
        "DS" => format!("{number} 13 2 {}", "ab".repeat(32)),
        _ => target.to_owned(),
    }
}

/// A zone: an SOA, and records of which those that a zone file could not have are left out.
pub fn any_zone(types: &'static [&'static str]) -> impl Strategy<Value = ModelZone> {
    vec((own_name(), select(types), any_name(), any::<u8>()), 0..16).prop_map(|records| {
        let mut rrsets: BTreeMap<(Vec<u8>, Rtype), (Name, RRset)> = BTreeMap::new();
        let apex = name(APEX);
        let soa = ("SOA", "NS.zone.test. host.zone.test. 1 2 3 4 30".to_owned());
        let own = records
            .iter()
            .map(|(owner, rtype, target, number)| (owner.as_str(), (*rtype, rdata(rtype, target, *number))));
        for (owner, (rtype, text)) in [(APEX, soa)].into_iter().chain(own) {
            let (owner, rtype): (Name, Rtype) = (name(owner), rtype.parse().expect("a type"));
            let at = |rrsets: &BTreeMap<_, (Name, RRset)>, wanted: Option<Rtype>| {
                rrsets.values().any(|(one, rrset)| *one == owner && wanted.is_none_or(|rtype| rrset.rtype == rtype))
            };
            let cname_beside = if rtype == Rtype::CNAME { at(&rrsets, None) } else { at(&rrsets, Some(Rtype::CNAME)) };
            if cname_beside || (rtype.is_singleton() && at(&rrsets, Some(rtype))) {
                continue;
            }
            let wire = rdata_from_text(rtype, &text, None).expect("RDATA");
            let ttl = 60 + u32::from(rtype.0);
            let (_, rrset) = rrsets
                .entry((owner.as_wire().to_vec(), rtype))
                .or_insert_with(|| (owner.clone(), RRset { rtype, ttl, records: Vec::new() }));
            let form = canonical(rtype, &wire);
            if rrset.records.iter().all(|one| canonical(rtype, one) != form) {
                rrset.records.push(wire);
            }
        }
        ModelZone { apex, rrsets: rrsets.into_values().collect() }
    })
}

/// The zone published.
pub fn publish(model: &ModelZone) -> Snapshot {
    let mut zone = Zone::new(model.apex.clone(), key(), 1);
    for group in model.rrsets.chunk_by(|left, right| left.0 == right.0) {
        let rrsets: Vec<RRset> = group.iter().map(|(_, rrset)| published(rrset)).collect();
        zone.set(&group[0].0, &rrsets);
    }
    let mut snapshot = Snapshot::new(key());
    snapshot.put_zone(Arc::new(zone));
    let known = |words: &[&str]| Some(hosted::family_answer(words, NOW));
    let entry =
        hosted::entry("a.outside.test.", known(&["resolved", "192.0.2.1", "192.0.2.2"]), known(&["nodata"]), NOW);
    snapshot.alias.put(entry);
    snapshot
}

fn published(rrset: &RRset) -> RRset {
    let mut rrset = rrset.clone();
    if rrset.rtype == Rtype::ALIAS {
        for record in &mut rrset.records {
            // Both families, and owner 1.
            record.extend_from_slice(&[3, 1, 0, 0, 0]);
        }
    }
    rrset
}

/// EDNS of a query: size, version, flags, options.
pub type Edns = Option<(u16, u8, u16, Vec<(u16, Vec<u8>)>)>;

fn any_edns() -> impl Strategy<Value = Edns> {
    let code = select(vec![3_u16, 8, 10, 11, 12, 15, 65_001]);
    let cookie = Just((10, CLIENT_COOKIE.to_vec()));
    let option = prop_oneof![2 => cookie, 3 => (code, vec(any::<u8>(), 0..42))];
    let size = select(vec![0_u16, 511, 512, 600, 1232, 4096, 65_535]);
    let version = prop_oneof![9 => Just(0_u8), 1 => any::<u8>()];
    proptest::option::of((size, version, any::<u16>(), vec(option, 0..3)))
}

/// A query that is well formed: header bits, question, EDNS.
pub fn any_query() -> impl Strategy<Value = (Vec<u8>, Edns)> {
    let known = select(TYPES.to_vec()).prop_map(query::type_number);
    let rtype = prop_oneof![8 => known, 1 => Just(255_u16), 1 => Just(6), 1 => Just(28), 1 => any::<u16>()];
    let class = prop_oneof![12 => Just(1_u16), 1 => any::<u16>()];
    let opcode = prop_oneof![12 => Just(0_u8), 1 => 0_u8..16];
    (any::<u16>(), opcode, any::<u8>(), any_name(), rtype, class, any_edns()).prop_map(
        |(id, opcode, bits, qname, rtype, class, edns)| {
            let mut octets = plain(id, &name_wire(&qname), rtype);
            octets[2] = opcode << 3 | bits & 7;
            octets[3] = bits & 0xf0;
            let end = octets.len();
            octets[end - 2..].copy_from_slice(&class.to_be_bytes());
            if let Some((size, version, flags, options)) = &edns {
                octets[11] = 1;
                octets.extend_from_slice(&[0, 0, 41]);
                octets.extend_from_slice(&size.to_be_bytes());
                octets.extend_from_slice(&[0, *version]);
                octets.extend_from_slice(&flags.to_be_bytes());
                let length: usize = options.iter().map(|(_, data)| 4 + data.len()).sum();
                octets.extend_from_slice(&(length as u16).to_be_bytes());
                for (code, data) in options {
                    octets.extend_from_slice(&code.to_be_bytes());
                    octets.extend_from_slice(&(data.len() as u16).to_be_bytes());
                    octets.extend_from_slice(data);
                }
            }
            (octets, edns)
        },
    )
}

/// Ways to spoil a message.
#[derive(Clone, Debug)]
pub enum Spoil {
    Set(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
}

pub fn any_spoil() -> impl Strategy<Value = Spoil> {
    prop_oneof![
        4 => (any::<usize>(), any::<u8>()).prop_map(|(at, octet)| Spoil::Set(at, octet)),
        2 => (0_usize..12, 0_u8..4).prop_map(|(at, octet)| Spoil::Set(at, octet)),
        1 => any::<usize>().prop_map(Spoil::Cut),
        1 => (any::<usize>(), vec(any::<u8>(), 1..20)).prop_map(|(at, octets)| Spoil::Insert(at, octets)),
    ]
}

pub fn spoiled(mut octets: Vec<u8>, spoils: &[Spoil]) -> Vec<u8> {
    for spoil in spoils {
        let length = octets.len().max(1);
        match spoil {
            Spoil::Set(at, octet) if !octets.is_empty() => octets[at % length] = *octet,
            Spoil::Set(..) => {}
            Spoil::Cut(at) => octets.truncate(at % length),
            Spoil::Insert(at, more) => {
                let at = at % (octets.len() + 1);
                octets.splice(at..at, more.iter().copied());
            }
        }
    }
    octets
}
