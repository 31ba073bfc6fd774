//! Who may write what (ownership.md section 5).

use super::actor::{Actor, Role};
use super::code::Code;
use super::owner::{OwnerId, OwnerNumber};
use super::report::Problem;
use super::scope::Ledger;
use super::zone::ZoneRow;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

fn forbidden(detail: impl Into<String>) -> Problem {
    Problem::new(Code::Forbidden, detail)
}

/// Refuses tokens that only read.
pub(super) fn check_writes(actor: &Actor) -> Result<(), Problem> {
    match actor.role {
        Role::Read => Err(forbidden("this token may only read: use one with the role owner or admin")),
        Role::Admin | Role::Owner(_) => Ok(()),
    }
}

/// Refuses all but `admin`.
pub(super) fn check_admin(actor: &Actor, what: &str) -> Result<(), Problem> {
    match actor.role {
        Role::Admin => Ok(()),
        Role::Owner(_) | Role::Read => Err(forbidden(format!("{what} needs a token with the role admin"))),
    }
}

/// Whether the actor may write for an owner that exists: its root, or one below it.
pub(super) fn is_entitled(ledger: &Ledger, actor: &Actor, owner: OwnerNumber) -> bool {
    match &actor.role {
        Role::Admin => true,
        Role::Read => false,
        Role::Owner(root) => {
            ledger.owners.get(&owner).is_some_and(|owner| owner.id == *root)
                || ledger.above(owner).iter().any(|above| above.id == *root)
        }
    }
}

/// Whether the actor may write for an owner by id, one that exists or is to be made below `parent`.
pub(super) fn check_owner(
    ledger: &Ledger,
    actor: &Actor,
    owner: &OwnerId,
    parent: Option<&OwnerId>,
) -> Result<(), Problem> {
    check_writes(actor)?;
    let Role::Owner(root) = &actor.role else { return Ok(()) };
    let refuse = |detail: String| Err(forbidden(detail));
    if owner != root {
        match ledger.owner(owner) {
            Some(existing) if is_entitled(ledger, actor, existing.number) => {}
            Some(_) => return refuse(format!("this token writes for {root} and its descendants, and not for {owner}")),
            None if owner.is_reserved() => {
                return refuse(format!("owners like {owner} are made by the server and by admin"));
            }
            None => {}
        }
    }
    let Some(parent) = parent else { return Ok(()) };
    let has_it_already = ledger
        .owner(owner)
        .and_then(|own| own.parent)
        .is_some_and(|number| ledger.owners.get(&number).is_some_and(|above| above.id == *parent));
    if has_it_already {
        return Ok(());
    }
    if owner == root {
        return refuse(format!("this token writes for {root}, and cannot move it below another owner"));
    }
    match ledger.owner(parent) {
        Some(above) if is_entitled(ledger, actor, above.number) => Ok(()),
        None if parent == root || !parent.is_reserved() => Ok(()),
        Some(_) | None => refuse(format!("the parent {parent} is not {root} or below it")),
    }
}

/// Where an owner that is made without a parent belongs: below the token's root.
pub(super) fn default_parent(actor: &Actor, owner: &OwnerId) -> Option<OwnerId> {
    match &actor.role {
        Role::Owner(root) if root != owner => Some(root.clone()),
        Role::Owner(_) | Role::Admin | Role::Read => None,
    }
}

/// Whether the token's limits, and the rule for the apex, let this record set through.
pub(super) fn check_record(
    ledger: &Ledger,
    actor: &Actor,
    zone: &ZoneRow,
    name: &Name,
    rtype: Rtype,
) -> Result<(), Problem> {
    check_limits(actor, zone, name, rtype)?;
    check_apex(ledger, actor, zone, name, rtype)
}

/// Whether the rule for the apex lets this record set through.
pub(super) fn check_apex(
    ledger: &Ledger,
    actor: &Actor,
    zone: &ZoneRow,
    name: &Name,
    rtype: Rtype,
) -> Result<(), Problem> {
    if *name == zone.name && is_of_zone_owner(rtype) && !is_entitled(ledger, actor, zone.owner_number) {
        return Err(forbidden(format!("{rtype} at the apex {} is for the zone's owner {}", zone.name, zone.owner)));
    }
    Ok(())
}

/// Whether the token's limits let this record set through.
pub(super) fn check_limits(actor: &Actor, zone: &ZoneRow, name: &Name, rtype: Rtype) -> Result<(), Problem> {
    let limits = &actor.limits;
    check_zone_limit(actor, &zone.name)?;
    if !limits.names.is_empty() && !limits.names.iter().any(|limit| limit.admits(name)) {
        return Err(forbidden(format!("this token is limited to other names than {name}")));
    }
    if !limits.types.is_empty() && !limits.types.contains(&rtype) {
        return Err(forbidden(format!("this token is limited to other types than {rtype}")));
    }
    Ok(())
}

/// Whether the token's limits let this zone through.
pub(super) fn check_zone_limit(actor: &Actor, apex: &Name) -> Result<(), Problem> {
    let zones = &actor.limits.zones;
    if zones.is_empty() {
        return Ok(());
    }
    let text = apex.to_string();
    if zones.iter().any(|glob| matches_glob(glob, &text)) {
        return Ok(());
    }
    Err(forbidden(format!("this token is limited to other zones than {apex}")))
}

/// Types that only the zone's owner writes at the apex.
pub(super) fn is_of_zone_owner(rtype: Rtype) -> bool {
    const CDS: Rtype = Rtype(59);
    const CDNSKEY: Rtype = Rtype(60);
    matches!(
        rtype,
        Rtype::SOA
            | Rtype::NS
            | Rtype::DS
            | Rtype::DNSKEY
            | Rtype::RRSIG
            | Rtype::NSEC
            | Rtype::NSEC3
            | Rtype::NSEC3PARAM
            | CDS
            | CDNSKEY
    )
}

/// Whether a glob over apexes in presentation form, final dot or not, matches; `*` stands for any octets.
pub(super) fn matches_glob(glob: &str, text: &str) -> bool {
    let glob = glob.trim_end_matches('.').to_ascii_lowercase();
    let text = text.trim_end_matches('.');
    let mut parts = glob.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            match rest.find(middle) {
                Some(at) => rest = &rest[at + middle.len()..],
                None => return false,
            }
        }
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_apexes() {
        for (glob, apex, wanted) in [
            ("example.com", "example.com.", true),
            ("*.example.com", "a.b.example.com.", true),
            ("*.example.com.", "example.com.", false),
            ("example.com", "evilexample.com.", false),
            ("*", "anything.", true),
            ("a*c*e", "abcde.", true),
            ("a*c*e", "abce.", true),
            ("a*c*f", "abcde.", false),
            ("ab*ba", "aba.", false),
        ] {
            assert_eq!(matches_glob(glob, apex), wanted, "{glob} {apex}");
        }
    }
}
