//! The one form of an endpoint, and the wish that it is: a function of the endpoint, the token's terms and the zones that
//! are served. The form of a form is itself.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::shown::{ALIAS_PROPERTY, SHARE_PROPERTY, ends_plain, plain, targets};
use super::wire::{Endpoint, Property};
use crate::ledger::alias_options::AliasOptions;
use crate::ledger::code::Code;
use crate::ledger::command::{BadWish, Wish};
use crate::ledger::external_dns::{ALIAS, DoorTerms, OWN_LABELS, SHARE, Sharing, TARGETS};
use crate::ledger::limits::{MAX_LABELS, MAX_TTL};
use crate::ledger::owner::Labels;
use crate::ledger::report::Problem;
use crate::ledger::wish::{self, RecordText};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::snapshot::Snapshot;

/// Most octets of all labels of an endpoint, with their keys.
pub(super) const MAX_LABEL_OCTETS: usize = 16 * 1024;

/// An endpoint in its one form.
pub(super) struct Canonical {
    /// As the client is given it back.
    pub(super) endpoint: Endpoint,
    /// What it asks for.
    pub(super) wish: Result<Wish, BadWish>,
    /// Its name and type in the protocol, if those can be read.
    pub(super) key: Option<(Name, Rtype)>,
}

/// What the property `alias` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AliasHint {
    /// Nothing, or `false`.
    Plain,
    /// `true`.
    Both,
    /// `A`.
    A,
    /// `AAAA`.
    Aaaa,
}

impl AliasHint {
    fn of(endpoint: &Endpoint) -> AliasHint {
        match endpoint.property(ALIAS_PROPERTY) {
            Some("true") => AliasHint::Both,
            Some("A") => AliasHint::A,
            Some("AAAA") => AliasHint::Aaaa,
            Some(_) | None => AliasHint::Plain,
        }
    }

    fn options(self) -> AliasOptions {
        AliasOptions { a: self != AliasHint::Aaaa, aaaa: self != AliasHint::A, ..AliasOptions::default() }
    }
}

/// Brings an endpoint into its one form and reads it.
pub(super) fn canonical(mut endpoint: Endpoint, terms: &DoorTerms, served: &Snapshot) -> Canonical {
    let rtype = endpoint.record_type.parse::<Rtype>().ok();
    let name = Name::parse(&endpoint.dns_name).ok();
    let (Some(rtype), Some(name)) = (rtype, name) else {
        let wish = Err(unread(&endpoint));
        return Canonical { endpoint, wish, key: None };
    };
    endpoint.dns_name = plain(&name.to_string());
    let mut found: Vec<String> = Vec::with_capacity(endpoint.targets.len());
    for target in endpoint.targets {
        let target = one_form(rtype, target);
        if !found.contains(&target) {
            found.push(target);
        }
    }
    endpoint.targets = found;
    if endpoint.record_ttl > 0 {
        let (least, most) = (terms.ttl_min.unwrap_or(0), terms.ttl_max.unwrap_or(MAX_TTL).min(MAX_TTL));
        endpoint.record_ttl = endpoint.record_ttl.max(i64::from(least)).min(i64::from(most));
    }
    endpoint.provider_specific = properties(&endpoint, rtype);
    let wish = read(&endpoint, &name, rtype, terms, served);
    Canonical { endpoint, wish, key: Some((name, rtype)) }
}

/// Why name or type cannot be read.
fn unread(endpoint: &Endpoint) -> BadWish {
    let text = RecordText {
        name: endpoint.dns_name.clone(),
        rtype: endpoint.record_type.clone(),
        values: endpoint.targets.clone(),
        ..RecordText::default()
    };
    wish::read(&text).err().unwrap_or_else(|| BadWish {
        name: endpoint.dns_name.clone(),
        rtype: endpoint.record_type.clone(),
        key: None,
        problem: Problem::new(Code::InvalidRecord, "name or type cannot be read"),
    })
}

fn one_form(rtype: Rtype, target: String) -> String {
    let address = match rtype {
        Rtype::A => target.trim().parse::<Ipv4Addr>().ok().map(|address| address.to_string()),
        Rtype::AAAA => target.trim().parse::<Ipv6Addr>().ok().map(|address| address.to_string()),
        _ => None,
    };
    match address {
        Some(address) => address,
        None if ends_plain(rtype) => plain(&target),
        None => target,
    }
}

/// The properties that mean something here, the first of each name, sorted.
fn properties(endpoint: &Endpoint, rtype: Rtype) -> Vec<Property> {
    let knows_alias = matches!(rtype, Rtype::A | Rtype::AAAA | Rtype::CNAME);
    let of = |name: &str| {
        let value = endpoint.property(name)?.to_owned();
        Some(Property { name: name.to_owned(), value })
    };
    [of(ALIAS_PROPERTY).filter(|_| knows_alias), of(SHARE_PROPERTY)].into_iter().flatten().collect()
}

fn read(endpoint: &Endpoint, name: &Name, rtype: Rtype, terms: &DoorTerms, served: &Snapshot) -> Result<Wish, BadWish> {
    let hint = AliasHint::of(endpoint);
    let at_apex = || served.zone_of(name).is_some_and(|zone| zone.apex() == name);
    let claimed = if rtype == Rtype::CNAME && (hint != AliasHint::Plain || at_apex()) { Rtype::ALIAS } else { rtype };
    let bad = |problem: Problem| BadWish {
        name: name.to_string(),
        rtype: rtype.to_string(),
        key: Some((name.clone(), claimed)),
        problem,
    };
    let is_address = |target: &String| match rtype {
        Rtype::A => target.parse::<Ipv4Addr>().is_ok(),
        Rtype::AAAA => target.parse::<Ipv6Addr>().is_ok(),
        _ => true,
    };
    if hint != AliasHint::Plain && matches!(rtype, Rtype::A | Rtype::AAAA) && !endpoint.targets.iter().all(is_address) {
        let detail =
            format!("{rtype} with a host name is not done: ask for a CNAME with alias, which serves addresses");
        return Err(bad(Problem::new(Code::AliasFamilyUnsupported, detail)));
    }
    check_labels(&endpoint.labels).map_err(bad)?;
    let text = RecordText {
        name: endpoint.dns_name.clone(),
        rtype: claimed.to_string(),
        set_id: Some(endpoint.set_identifier.clone()),
        ttl: (endpoint.record_ttl != 0).then_some(endpoint.record_ttl),
        values: endpoint.targets.iter().map(|target| absolute(rtype, target)).collect(),
        share: false,
        alias: (claimed == Rtype::ALIAS).then(|| hint.options()),
        ..RecordText::default()
    };
    let mut wish = wish::read(&text).map_err(|read| bad(read.problem))?;
    let shares = terms.sharing == Sharing::Shared || endpoint.property(SHARE_PROPERTY) == Some("true");
    wish.share = shares && !claimed.is_singleton();
    wish.labels = labels(endpoint, &wish);
    Ok(wish)
}

/// A target as the ledger reads it: names are absolute here, whether their final dot is written or not.
fn absolute(rtype: Rtype, target: &str) -> String {
    let ends_with_name = ends_plain(rtype) || matches!(rtype, Rtype::SRV | Rtype::NAPTR);
    let is_text = target.trim_start().starts_with("\\#");
    if ends_with_name && !is_text && !target.is_empty() && !target.ends_with('.') {
        format!("{target}.")
    } else {
        target.to_owned()
    }
}

fn check_labels(labels: &Labels) -> Result<(), Problem> {
    let octets: usize = labels.iter().map(|(key, value)| key.len() + value.len()).sum();
    if labels.len() > MAX_LABELS || octets > MAX_LABEL_OCTETS {
        let detail = format!("an endpoint has at most {MAX_LABELS} labels and {MAX_LABEL_OCTETS} octets of them");
        return Err(Problem::new(Code::LimitExceeded, detail));
    }
    Ok(())
}

/// The client's labels, and those in which the door keeps how the client wrote the record.
fn labels(endpoint: &Endpoint, wish: &Wish) -> Labels {
    let mut labels = endpoint.labels.clone();
    labels.retain(|key, _| !key.starts_with(OWN_LABELS));
    let mut keep = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            labels.insert(key.to_owned(), value);
        }
    };
    keep(ALIAS, endpoint.property(ALIAS_PROPERTY).map(str::to_owned));
    keep(SHARE, endpoint.property(SHARE_PROPERTY).map(str::to_owned));
    let is_as_printed = targets(wish.rtype, &wish.records) == endpoint.targets;
    keep(TARGETS, if is_as_printed { None } else { serde_json::to_string(&endpoint.targets).ok() });
    labels
}
