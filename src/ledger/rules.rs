//! The rules between claims at a name and around it: one holder, shared unions, types that exclude each other, and
//! what zone cuts and DNAMEs hide (ownership.md section 1, alias.md section 2).

use super::alias_options::StaticMode;
use super::claim::Claim;
use super::code::Code;
use super::limits::MAX_CLAIMS;
use super::report::Problem;
use super::scope::{Ledger, NameKey, is_redirection};
use super::zone::ZoneRow;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata;
use crate::zone::node::{MAX_RECORDS, MAX_RRSET_OCTETS, MAX_TYPES};

/// A claim that can be held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fit {
    /// The server's own claims that it takes over.
    pub(super) takes_over: Vec<Claim>,
    /// It is hidden by a zone cut here.
    pub(super) occluded_by: Option<Name>,
}

/// Why a claim cannot be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Another owner's claim stands against it, and may go.
    Conflict(Problem),
    /// A claim stands against it that no waiting takes away: its owner's own, or the SOA of an apex.
    Standing(Problem),
    /// It cannot be served whoever holds what.
    Invalid(Problem),
}

/// What becomes of a claim below a zone cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occluded {
    /// It is refused.
    Refused,
    /// It is kept, with a warning: a zone file may have it.
    Kept,
}

/// Whether two claims have one key: they are at one name already.
pub(super) fn is_same_claim(left: &Claim, right: &Claim) -> bool {
    left.rtype == right.rtype && left.owner == right.owner && left.set_id == right.set_id
}

/// Whether `wish` can be held with what the ledger has at its name, above and below.
pub(super) fn judge(ledger: &Ledger, zone: &ZoneRow, wish: &Claim, occluded: Occluded) -> Result<Fit, Obstacle> {
    let key = NameKey { zone: wish.zone, name: wish.name.clone() };
    let at_name = ledger.claims.get(&key).map_or(&[][..], Vec::as_slice);
    let held: Vec<&Claim> = at_name.iter().filter(|one| one.is_held() && !is_same_claim(one, wish)).collect();
    let mut fit = Fit::default();
    let at_apex = wish.name == zone.name;
    if wish.rtype == Rtype::SOA && !at_apex {
        let detail = format!("an SOA stands at the apex {} and nowhere else", zone.name);
        return Err(Obstacle::Invalid(Problem::new(Code::InvalidRecord, detail)));
    }
    // What no promotion can mend comes first: so a request that is repeated comes to the same.
    check_above(ledger, zone, wish, occluded, &mut fit)?;
    if is_redirection(wish.rtype, at_apex) {
        check_here_and_below(ledger, &key, wish, &held, occluded)?;
    }
    check_name_servers(ledger, zone, wish)?;
    check_limits(wish, &held, at_name)?;
    check_types(ledger, wish, &held)?;
    check_same_type(ledger, wish, &held, at_apex, &mut fit)?;
    Ok(fit)
}

/// Whether a held claim may stand beside the others of its name: for claims that are there, and change hands.
pub(super) fn stands(ledger: &Ledger, claim: &Claim) -> Result<(), Problem> {
    let key = NameKey { zone: claim.zone, name: claim.name.clone() };
    let at_name = ledger.claims.get(&key).map_or(&[][..], Vec::as_slice);
    let held: Vec<&Claim> = at_name.iter().filter(|one| one.is_held() && !is_same_claim(one, claim)).collect();
    let judged = check_limits(claim, &held, at_name)
        .and_then(|()| check_types(ledger, claim, &held))
        .and_then(|()| check_same_type(ledger, claim, &held, false, &mut Fit::default()));
    judged.map_err(|obstacle| match obstacle {
        Obstacle::Conflict(problem) | Obstacle::Standing(problem) | Obstacle::Invalid(problem) => problem,
    })
}

fn conflict(ledger: &Ledger, code: Code, wish: &Claim, other: &Claim, why: &str) -> Obstacle {
    let whose = if other.owner == wish.owner { "its owner".to_owned() } else { other.owner_id.to_string() };
    let detail = format!("{} {} is held by {whose}: {why}", other.name, other.rtype);
    let holder = Some(ledger.holder_of(other));
    let problem = Problem { code, detail, holder, path: Box::default() };
    if other.owner == wish.owner || other.rtype == Rtype::SOA {
        Obstacle::Standing(problem)
    } else {
        Obstacle::Conflict(problem)
    }
}

/// One holder, unless all share; the server's own SOA and NS give way.
fn check_same_type(
    ledger: &Ledger,
    wish: &Claim,
    held: &[&Claim],
    at_apex: bool,
    fit: &mut Fit,
) -> Result<(), Obstacle> {
    let gives_way = at_apex && matches!(wish.rtype, Rtype::SOA | Rtype::NS);
    for other in held.iter().filter(|other| other.rtype == wish.rtype) {
        if gives_way && other.owner_id.is_system() && other.owner != wish.owner {
            fit.takes_over.push((*other).clone());
        } else if other.owner == wish.owner {
            if wish.rtype.is_singleton() {
                let detail = format!("a name has one {}, and the owner holds one with another setId", wish.rtype);
                return Err(Obstacle::Invalid(Problem::new(Code::InvalidRecord, detail)));
            }
        } else if !wish.share || !other.share {
            let why = "ask that owner to let go, queue for it, or share it on both sides";
            return Err(conflict(ledger, Code::OwnedByOther, wish, other, why));
        }
    }
    Ok(())
}

fn check_types(ledger: &Ledger, wish: &Claim, held: &[&Claim]) -> Result<(), Obstacle> {
    let excluding = held
        .iter()
        .filter(|other| other.rtype != wish.rtype)
        .filter_map(|other| excludes(wish, other).map(|(code, why)| (other, code, why)));
    // What stands for good is named first, then an ALIAS before what a CNAME could not stand beside either.
    let order = |other: &Claim, code: Code| {
        (other.rtype != Rtype::SOA, other.owner != wish.owner, code != Code::AliasExclusive)
    };
    match excluding.min_by_key(|(other, code, _)| order(other, *code)) {
        Some((other, code, why)) => Err(conflict(ledger, code, wish, other, why)),
        None => Ok(()),
    }
}

/// Whether two claims of different types cannot stand at one name.
fn excludes(wish: &Claim, other: &Claim) -> Option<(Code, &'static str)> {
    match (wish.rtype, other.rtype) {
        (Rtype::CNAME, Rtype::ALIAS) => Some((Code::AliasExclusive, "a CNAME cannot stand beside an ALIAS")),
        (_, Rtype::CNAME) => Some((Code::CnameExclusive, "a CNAME stands alone at its name")),
        (Rtype::CNAME, _) => Some((Code::CnameExclusive, "a CNAME must stand alone at its name")),
        (Rtype::ALIAS, Rtype::A | Rtype::AAAA) => addresses_beside(wish, other.rtype, wish.owner == other.owner),
        (Rtype::A | Rtype::AAAA, Rtype::ALIAS) => addresses_beside(other, wish.rtype, wish.owner == other.owner),
        _ => None,
    }
}

fn addresses_beside(alias: &Claim, family: Rtype, same_owner: bool) -> Option<(Code, &'static str)> {
    let options = alias.alias.unwrap_or_default();
    let enabled = if family == Rtype::A { options.a } else { options.aaaa };
    if !same_owner {
        return Some((Code::OwnedByOther, "addresses beside an ALIAS belong to the owner of the ALIAS"));
    }
    match options.static_mode {
        StaticMode::Reject if enabled => {
            Some((Code::AliasExclusive, "addresses beside an ALIAS need its option `static` or fewer `families`"))
        }
        StaticMode::Reject | StaticMode::Override | StaticMode::Fallback => None,
    }
}

/// Zone cuts and DNAMEs above, and a cut at the name itself.
fn check_above(
    ledger: &Ledger,
    zone: &ZoneRow,
    wish: &Claim,
    occluded: Occluded,
    fit: &mut Fit,
) -> Result<(), Obstacle> {
    let glue = matches!(wish.rtype, Rtype::A | Rtype::AAAA);
    for above in wish.name.ancestors().take_while(|above| above.is_at_or_below(&zone.name)) {
        let here = above == wish.name;
        let key = NameKey { zone: zone.number, name: above };
        let at_apex = key.name == zone.name;
        for other in redirections(ledger, &key).filter(|one| one.is_held() && is_redirection(one.rtype, at_apex)) {
            let admitted = match (other.rtype, here) {
                (Rtype::NS, true) => glue || matches!(wish.rtype, Rtype::NS | Rtype::DS | Rtype::RRSIG | Rtype::NSEC),
                (Rtype::NS, false) => glue,
                (_, true) => true,
                (_, false) => false,
            };
            if admitted {
                continue;
            }
            if other.rtype == Rtype::NS && occluded == Occluded::Kept {
                fit.occluded_by = Some(key.name.clone());
                continue;
            }
            let what = if other.rtype == Rtype::NS { "the zone cut" } else { "the DNAME" };
            let detail = format!("{} {} would be hidden by {what} at {}", wish.name, wish.rtype, key.name);
            let holder = Some(ledger.holder_of(other));
            return Err(Obstacle::Invalid(Problem { code: Code::Occluded, detail, holder, path: Box::default() }));
        }
    }
    Ok(())
}

fn redirections<'a>(ledger: &'a Ledger, key: &NameKey) -> impl Iterator<Item = &'a Claim> {
    let claims = ledger.claims.get(key).or_else(|| ledger.redirections.get(key));
    claims.into_iter().flatten()
}

/// What a new zone cut or DNAME would hide.
fn check_here_and_below(
    ledger: &Ledger,
    key: &NameKey,
    wish: &Claim,
    held: &[&Claim],
    occluded: Occluded,
) -> Result<(), Obstacle> {
    let is_cut = wish.rtype == Rtype::NS;
    if is_cut && occluded == Occluded::Kept {
        return Ok(());
    }
    let hidden = |one: &Claim| is_hidden_by(wish.rtype, one.rtype);
    let here = held.iter().find(|one| is_cut && hidden(one) && !matches!(one.rtype, Rtype::NS | Rtype::DS)).copied();
    let Some(below) = ledger.below.get(key) else {
        return here.map_or(Ok(()), |one| Err(would_hide(ledger, wish, one)));
    };
    let still_held = |one: &&Claim| {
        let at = ledger.claims.get(&NameKey { zone: one.zone, name: one.name.clone() });
        at.is_none_or(|claims| claims.iter().any(|now| now.is_held() && is_same_claim(now, one)))
    };
    let blocker = below.claims.iter().filter(|one| hidden(one)).find(still_held);
    // What did not fit into the reading is taken to be there still.
    let blocker = blocker.or_else(|| below.claims.last().filter(|_| below.more));
    here.or(blocker).map_or(Ok(()), |one| Err(would_hide(ledger, wish, one)))
}

/// Whether an RRset of type `below` is hidden by a redirection above it: by a cut all but glue, by a DNAME all.
pub(super) fn is_hidden_by(above: Rtype, below: Rtype) -> bool {
    above != Rtype::NS || !matches!(below, Rtype::A | Rtype::AAAA)
}

fn would_hide(ledger: &Ledger, wish: &Claim, other: &Claim) -> Obstacle {
    let detail = format!(
        "{} {} would hide {} {} of {}: that has to go first",
        wish.name, wish.rtype, other.name, other.rtype, other.owner_id
    );
    let holder = Some(ledger.holder_of(other));
    Obstacle::Invalid(Problem { code: Code::Occluded, detail, holder, path: Box::default() })
}

/// No ALIAS stands at a name server of its zone: who asks it for its addresses may have to ask it for those of its
/// target first (alias.md section 2). An ALIAS is checked against the NS of the apex, an NS against every ALIAS.
fn check_name_servers(ledger: &Ledger, zone: &ZoneRow, wish: &Claim) -> Result<(), Obstacle> {
    let held = |name: &Name, rtype: Rtype| {
        let key = NameKey { zone: zone.number, name: name.clone() };
        let claims = ledger.claims.get(&key).into_iter().flatten();
        claims.filter(move |one| one.is_held() && one.rtype == rtype)
    };
    let names = |claim: &Claim, name: &Name| {
        claim.records.iter().any(|record| rdata::target(Rtype::NS, record).as_ref() == Some(name))
    };
    let (other, server) = match wish.rtype {
        Rtype::ALIAS => (held(&zone.name, Rtype::NS).find(|ns| names(ns, &wish.name)), Some(wish.name.clone())),
        Rtype::NS => {
            let targets = wish.records.iter().filter_map(|record| rdata::target(Rtype::NS, record));
            let found = targets.filter(|name| name.is_at_or_below(&zone.name)).find_map(|name| {
                let alias = held(&name, Rtype::ALIAS).next()?;
                Some((alias, name))
            });
            found.map_or((None, None), |(alias, name)| (Some(alias), Some(name)))
        }
        _ => (None, None),
    };
    let (Some(other), Some(server)) = (other, server) else { return Ok(()) };
    let detail = format!("{server} would be both an ALIAS and a name server of {}: it needs A and AAAA", zone.name);
    let holder = Some(ledger.holder_of(other));
    Err(Obstacle::Invalid(Problem { code: Code::AliasNameServer, detail, holder, path: Box::default() }))
}

fn check_limits(wish: &Claim, held: &[&Claim], at_name: &[Claim]) -> Result<(), Obstacle> {
    let limit = |detail: String| Err(Obstacle::Invalid(Problem::new(Code::LimitExceeded, detail)));
    let others = at_name.iter().filter(|one| one.rtype == wish.rtype && !is_same_claim(one, wish)).count();
    if others >= MAX_CLAIMS {
        return limit(format!("there are {MAX_CLAIMS} claims of {} {} already", wish.name, wish.rtype));
    }
    let mut types: Vec<Rtype> = held.iter().map(|one| one.rtype).chain([wish.rtype]).collect();
    types.sort_unstable();
    types.dedup();
    if types.len() > MAX_TYPES {
        return limit(format!("a name has at most {MAX_TYPES} types"));
    }
    // Only what would be served together counts together; all else is a conflict.
    let is_united = |one: &&&Claim| one.rtype == wish.rtype && (one.owner == wish.owner || (one.share && wish.share));
    let same = held.iter().filter(is_united);
    let (records, octets) = same.fold((wish.records.len(), octets(wish)), |(records, total), one| {
        (records + one.records.len(), total + octets(one))
    });
    if records > MAX_RECORDS || octets > MAX_RRSET_OCTETS {
        return limit(format!("an RRset has at most {MAX_RECORDS} records and {MAX_RRSET_OCTETS} octets"));
    }
    Ok(())
}

fn octets(claim: &Claim) -> usize {
    claim.records.iter().map(|record| record.len() + 2).sum()
}
