//! Many claims in one row of a statement: what SQLite and its driver cost is per row and column, so the start reads the
//! claims of some hundred names at once, as one run of octets. What does not parse is read again row by row.

use super::codec;
use super::columns::Apexes;
use super::load::Stored;
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::owner::{Labels, Owner, OwnerId, OwnerNumber};
use crate::ledger::zone::ZoneNumber;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata;
use crate::zone::alias::Moment;
use crate::zone::node::RRsetRef;
use std::collections::BTreeMap;

/// A claim as [`super::sql::PAGE`] writes it: eight words, each with a space behind it, the last three of them the octets of
/// the fields that follow, each but the last with a space behind it. Options that are NULL have -1 octets and no space.
#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    zone: ZoneNumber,
    rtype: Rtype,
    owner: OwnerNumber,
    ttl: u32,
    state: ClaimState,
    key: &'a [u8],
    data: &'a [u8],
    alias: Option<&'a [u8]>,
}

/// What a page is read against.
pub(super) struct Known<'a> {
    pub(super) apexes: &'a Apexes,
    pub(super) owners: &'a BTreeMap<OwnerNumber, Owner>,
}

/// A page that holds something that cannot be used: which row, and why, is found by reading it row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

struct Octets<'a>(&'a [u8]);

impl<'a> Octets<'a> {
    fn word(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|octet| *octet == b' ')?;
        let word = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(word)
    }

    fn number<T: TryFrom<i64>>(&mut self) -> Option<T> {
        let word = self.word()?;
        let (is_negative, digits) = word.strip_prefix(b"-").map_or((false, word), |digits| (true, digits));
        let mut number = 0_i64;
        for digit in digits {
            number =
                number.checked_mul(10)?.checked_add(i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?))?;
        }
        if digits.is_empty() { None } else { T::try_from(if is_negative { -number } else { number }).ok() }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn space(&mut self) -> Option<()> {
        (self.take(1)? == b" ").then_some(())
    }

    /// A field behind a space, if it is not NULL.
    fn optional(&mut self, length: i64) -> Option<Option<&'a str>> {
        let Ok(length) = usize::try_from(length) else { return Some(None) };
        self.space()?;
        Some(Some(std::str::from_utf8(self.take(length)?).ok()?))
    }

    /// Zone and key, and the claim if all of it can be used.
    fn claim(&mut self, apexes: &Apexes) -> Option<(i64, &'a [u8], Option<Claim>)> {
        let zone: i64 = self.number()?;
        let (rtype, owner, ttl): (i64, i64, i64) = (self.number()?, self.number()?, self.number()?);
        let state = ClaimState::from_text(std::str::from_utf8(self.word()?).ok()?);
        let share: i64 = self.number()?;
        let (asserted, created): (i64, i64) = (self.number()?, self.number()?);
        let (created_revision, revision): (i64, i64) = (self.number()?, self.number()?);
        let (key, set_id, data): (u32, u32, u32) = (self.number()?, self.number()?, self.number()?);
        let (alias, labels): (i64, i64) = (self.number()?, self.number()?);
        let key = self.take(key as usize)?;
        self.space()?;
        let set_id = std::str::from_utf8(self.take(set_id as usize)?).ok()?;
        self.space()?;
        let data = self.take(data as usize)?;
        let (alias, labels) = (self.optional(alias)?, self.optional(labels)?);
        let claim = || {
            let number = ZoneNumber(u32::try_from(zone).ok()?);
            let rtype = Rtype(u16::try_from(rtype).ok()?);
            let alias = match alias {
                _ if rtype != Rtype::ALIAS => None,
                None => Some(Default::default()),
                Some(text) => Some(codec::alias_options_from(text)?),
            };
            let records = codec::unpack(rtype, data)?;
            let fits = records.len() == 1 || !rtype.is_singleton();
            fits.then_some(Claim {
                zone: number,
                name: Name::from_sort_key(apexes.get(&number)?, key).ok()?,
                rtype,
                owner: OwnerNumber(u32::try_from(owner).ok()?),
                owner_id: OwnerId::system(),
                set_id: set_id.to_owned(),
                ttl: u32::try_from(ttl).ok()?,
                records,
                alias,
                share: share != 0,
                labels: codec::labels_from(labels),
                state: state?,
                asserted: Moment(u64::try_from(asserted).ok()?),
                created: Moment(u64::try_from(created).ok()?),
                created_revision: u64::try_from(created_revision).ok()?,
                revision: u64::try_from(revision).ok()?,
            })
        };
        Some((zone, key, claim()))
    }

    fn row(&mut self) -> Option<Row<'a>> {
        let zone = ZoneNumber(self.number()?);
        let rtype = Rtype(self.number()?);
        let owner = OwnerNumber(self.number()?);
        let ttl = self.number()?;
        let state = ClaimState::from_text(std::str::from_utf8(self.word()?).ok()?)?;
        let (key, data): (u32, u32) = (self.number()?, self.number()?);
        let alias: i32 = self.number()?;
        let key = self.take(key as usize)?;
        self.space()?;
        let data = self.take(data as usize)?;
        let alias = match usize::try_from(alias) {
            Ok(length) => {
                self.space()?;
                Some(self.take(length)?)
            }
            Err(_) => None,
        };
        Some(Row { zone, rtype, owner, ttl, state, key, data, alias })
    }
}

/// All claims of a page of `count` as `CLAIMS_AT_PACKED` and `CLAIMS_WITH_PACKED` write it: fifteen words, each with a
/// space behind it, the last five of them the octets of the fields that follow as in [`Row`]. A claim of which some
/// part cannot be used is left out; owners' ids are filled in later. Also gives the place of the last one in order.
pub(super) fn whole(octets: &[u8], count: usize, apexes: &Apexes) -> Result<Whole, Unreadable> {
    let mut whole = Whole { claims: Vec::with_capacity(count.min(octets.len())), last: None };
    let mut rest = Octets(octets);
    let mut found = 0;
    while !rest.0.is_empty() {
        let (zone, key, claim) = rest.claim(apexes).ok_or(Unreadable)?;
        whole.claims.extend(claim);
        if whole.last.as_ref().is_none_or(|(last, end)| (*last, end.as_slice()) < (zone, key)) {
            whole.last = Some((zone, key.to_vec()));
        }
        found += 1;
    }
    if found == count { Ok(whole) } else { Err(Unreadable) }
}

/// See [`whole`].
pub(super) struct Whole {
    pub(super) claims: Vec<Claim>,
    /// Zone and key.
    pub(super) last: Option<(i64, Vec<u8>)>,
}

/// Calls `each` with the held claims of every name of a page of `count` claims, if all of it can be used.
pub(super) fn read(
    octets: &[u8],
    count: usize,
    known: &Known<'_>,
    each: &mut impl FnMut(Stored<'_>),
) -> Result<(), Unreadable> {
    let mut rows: Vec<(Row<'_>, RRsetRef<'_>)> = Vec::with_capacity(count.min(octets.len()));
    let mut rest = Octets(octets);
    while !rest.0.is_empty() {
        let row = rest.row().ok_or(Unreadable)?;
        let rrset = checked(&row, known).ok_or(Unreadable)?;
        rows.push((row, rrset));
    }
    let is_sorted = rows.is_sorted_by(|(left, _), (right, _)| {
        (left.zone, left.key, left.rtype, left.owner) <= (right.zone, right.key, right.rtype, right.owner)
    });
    if rows.len() != count || !is_sorted {
        return Err(Unreadable);
    }
    let at_name = || rows.chunk_by(|(left, _), (right, _)| left.zone == right.zone && left.key == right.key);
    let mut names = Vec::with_capacity(rows.len());
    for (first, _) in at_name().filter_map(<[_]>::first) {
        let apex = known.apexes.get(&first.zone).ok_or(Unreadable)?;
        names.push(Name::from_sort_key(apex, first.key).map_err(|_| Unreadable)?);
    }
    let mut rrsets = Vec::new();
    for (name, rows) in names.into_iter().zip(at_name()) {
        rrsets.clear();
        let mut is_plain = true;
        for (row, rrset) in rows.iter().filter(|(row, _)| row.state == ClaimState::Held) {
            // Several claims of a type are joined, an SOA gets its serial, an ALIAS its owners.
            is_plain &= !matches!(row.rtype, Rtype::SOA | Rtype::ALIAS);
            is_plain &= rrsets.last().is_none_or(|last: &RRsetRef<'_>| last.rtype != row.rtype);
            rrsets.push(*rrset);
        }
        let Some((first, _)) = rows.first().filter(|_| !rrsets.is_empty()) else { continue };
        if is_plain {
            each(Stored::Plain { zone: first.zone, name, rrsets: &rrsets });
        } else {
            each(Stored::Claims(claims(name, rows, known).ok_or(Unreadable)?));
        }
    }
    Ok(())
}

/// The records of a row, if each part of it can be used: as [`super::columns::claim_to_serve`] decides.
fn checked<'a>(row: &Row<'a>, known: &Known<'_>) -> Option<RRsetRef<'a>> {
    let rrset = RRsetRef::packed(row.rtype, row.ttl, row.data)?;
    let form = if row.rtype == Rtype::ALIAS { Rtype::CNAME } else { row.rtype };
    let is_known = known.owners.contains_key(&row.owner);
    let fits = is_known
        && rrset.records().all(|record| rdata::is_well_formed(form, record))
        && (rrset.count == 1 || !row.rtype.is_singleton());
    let options = || row.alias.map(|text| std::str::from_utf8(text).ok().and_then(codec::alias_options_from));
    (fits && (row.rtype != Rtype::ALIAS || options() != Some(None))).then_some(rrset)
}

fn claims(name: Name, rows: &[(Row<'_>, RRsetRef<'_>)], known: &Known<'_>) -> Option<Vec<Claim>> {
    let held = rows.iter().filter(|(row, _)| row.state == ClaimState::Held);
    held.map(|(row, rrset)| {
        let alias = match row.alias {
            _ if row.rtype != Rtype::ALIAS => None,
            None => Some(Default::default()),
            Some(text) => Some(codec::alias_options_from(std::str::from_utf8(text).ok()?)?),
        };
        Some(Claim {
            zone: row.zone,
            name: name.clone(),
            rtype: row.rtype,
            owner: row.owner,
            owner_id: known.owners.get(&row.owner).map_or_else(OwnerId::system, |owner| owner.id.clone()),
            set_id: String::new(),
            ttl: row.ttl,
            records: rrset.records().map(<[u8]>::to_vec).collect(),
            alias,
            share: false,
            labels: Labels::new(),
            state: row.state,
            asserted: Moment(0),
            created: Moment(0),
            created_revision: 0,
            revision: 0,
        })
    })
    .collect()
}
