//! Compares the answers of the old server and this one, and says of each difference why it is there, if that is known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use tokio::task::JoinSet;

use super::super::failure::Failure;
use super::answers::{Answer, Answered};
use super::ask::Asker;
use super::report::{Finding, Migration, What};
use super::{Taken, bar};
use crate::wire::codes::{Rcode, Rtype};
use crate::wire::name::Name;
use crate::wire::rdata::{canonical, target};

/// Questions on their way to each server at a time.
const IN_FLIGHT: usize = 32;
/// Most differences that are kept; more are only counted.
const MAX_DIFFERENCES: usize = 10_000;
/// A label that no zone has.
const ABSENT: &[u8] = b"tenured-migrate-absent";

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Question {
    /// QNAME.
    pub(super) name: Name,
    /// QTYPE.
    pub(super) rtype: Rtype,
}

/// What this server is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Old {
    /// A server.
    Server(SocketAddr),
    /// The content as it was read.
    Content,
}

/// A question that is answered otherwise.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    /// QNAME.
    pub(super) name: String,
    /// QTYPE.
    #[serde(rename = "type")]
    pub(super) rtype: String,
    /// The old answer in a few words.
    pub(super) old: String,
    /// The new one.
    pub(super) new: String,
    /// Why; none if that is not known.
    pub(super) reason: Option<String>,
}

/// What a comparison came to.
#[derive(Debug, Default, Serialize)]
pub(super) struct Comparison {
    /// Questions asked of both.
    pub(super) questions: usize,
    /// Equal answers.
    pub(super) equal: usize,
    /// Different ones with a known reason.
    pub(super) explained: usize,
    /// Different ones without.
    pub(super) unexplained: usize,
    /// The differences, unexplained ones first.
    pub(super) differences: Vec<Difference>,
}

impl Comparison {
    /// In one line.
    pub(super) fn sentence(&self) -> String {
        let Comparison { questions, equal, explained, unexplained, .. } = self;
        format!(
            "{questions} answers compared: {equal} equal, {explained} different for a known reason, {unexplained} different \
             without one"
        )
    }

    fn count(&mut self, difference: Option<Difference>) {
        self.questions += 1;
        let Some(difference) = difference else {
            self.equal += 1;
            return;
        };
        match difference.reason {
            Some(_) => self.explained += 1,
            None => self.unexplained += 1,
        }
        // An unexplained one is never lost behind those that are.
        if self.differences.len() < MAX_DIFFERENCES
            || difference.reason.is_none() && self.unexplained <= MAX_DIFFERENCES
        {
            self.differences.push(difference);
        }
    }
}

/// A question by its place, with what the old and the new server say.
type Different = (usize, Reply, Reply);

/// Asks both for all that was taken.
pub(super) async fn run(old: Old, new: SocketAddr, migration: &Migration) -> Result<Comparison, Failure> {
    let questions = Arc::new(questions(&migration.zones, old));
    let progress = bar("answers", questions.len());
    let (next, content) = (Arc::new(AtomicUsize::new(0)), Arc::new(content(&migration.zones, old)));
    let mut workers: JoinSet<Result<Vec<Different>, String>> = JoinSet::new();
    for _ in 0..IN_FLIGHT.min(questions.len()) {
        let (questions, next, progress) = (Arc::clone(&questions), Arc::clone(&next), progress.clone());
        let content = Arc::clone(&content);
        workers.spawn(async move {
            let mut new = Asker::new(new).await?;
            let mut old = match old {
                Old::Server(server) => Some(Asker::new(server).await?),
                Old::Content => None,
            };
            let mut different = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(question) = questions.get(at) else { return Ok(different) };
                let (was, is) = match &mut old {
                    Some(old) => tokio::join!(old.ask(question), new.ask(question)),
                    None => (content.get(question).cloned().ok_or_else(String::new), new.ask(question).await),
                };
                if was != is || was.is_err() {
                    different.push((at, was, is));
                }
                progress.inc(1);
            }
        });
    }
    let mut different = Vec::new();
    while let Some(ended) = workers.join_next().await {
        let ended = ended.map_err(|error| Failure::failed(format!("the comparison ended early: {error}")))?;
        different.extend(ended.map_err(|error| Failure::failed(format!("the servers cannot be asked: {error}")))?);
    }
    progress.finish_and_clear();
    different.sort_by_key(|(at, _, _)| *at);
    let reasons = Reasons::new(migration);
    let mut comparison = Comparison::default();
    for _ in different.len()..questions.len() {
        comparison.count(None);
    }
    for (at, was, is) in different {
        let Some(question) = questions.get(at) else { continue };
        let text = |reply: &Reply| reply.as_ref().map_or_else(Clone::clone, Answer::text);
        let reason = reasons.of(question, &was, &is);
        let (old, new) = (text(&was), text(&is));
        let (name, rtype) = (question.name.to_string(), question.rtype.to_string());
        comparison.count(Some(Difference { name, rtype, old, new, reason }));
    }
    comparison.differences.sort_by_key(|difference| difference.reason.is_some());
    Ok(comparison)
}

/// An answer, or why there is none.
type Reply = Result<Answer, String>;

/// Each name and type there is, addresses of each name, what a wildcard makes, and a name that is not there.
fn questions(zones: &[Taken], old: Old) -> Vec<Question> {
    let mut all = BTreeSet::new();
    if old == Old::Content {
        return content(zones, old).into_keys().collect();
    }
    for zone in zones {
        for Question { name, rtype } in &zone.keys {
            // What no query asks for: the expansion of an ALIAS is.
            let types = [Some(*rtype).filter(|rtype| *rtype != Rtype::ALIAS), Some(Rtype::A), Some(Rtype::AAAA)];
            let wild = name.parent().filter(|_| name.is_wildcard()).and_then(|parent| parent.child(ABSENT).ok());
            for rtype in types.into_iter().flatten() {
                all.extend(wild.clone().map(|name| Question { name, rtype }));
                all.insert(Question { name: name.clone(), rtype });
            }
        }
        all.extend(zone.origin.child(ABSENT).ok().map(|name| Question { name, rtype: Rtype::A }));
    }
    all.into_iter().collect()
}

/// The answers that the content itself tells: all RRsets but those at or below a cut or below a DNAME, of which a server
/// answers otherwise, and ALIAS.
fn content(zones: &[Taken], old: Old) -> HashMap<Question, Answer> {
    let mut answers = HashMap::new();
    if old != Old::Content {
        return answers;
    }
    // A zone hides what its parent has of the same name.
    let apexes: BTreeSet<&Name> = zones.iter().map(|zone| &zone.origin).collect();
    for zone in zones {
        let cuts: BTreeSet<&Name> = zone
            .rrsets
            .iter()
            .filter(|(name, rrset)| match rrset.rtype {
                Rtype::NS => *name != zone.origin,
                _ => false,
            })
            .map(|(name, _)| name)
            .collect();
        let names_above =
            |rtype| zone.rrsets.iter().filter(move |(_, rrset)| rrset.rtype == rtype).map(|(name, _)| name);
        let redirected: BTreeSet<&Name> = names_above(Rtype::DNAME).collect();
        let aliased: BTreeSet<&Name> = names_above(Rtype::ALIAS).collect();
        let is_answered = |name: &Name, rtype: Rtype| {
            let inside = |above: &Name| above.is_at_or_below(&zone.origin);
            let hidden = |above: &Name| {
                let other_zone = *above != zone.origin && apexes.contains(above);
                cuts.contains(above) || other_zone || above != name && redirected.contains(above)
            };
            let addresses = matches!(rtype, Rtype::A | Rtype::AAAA) && aliased.contains(name);
            rtype != Rtype::ALIAS
                && !addresses
                && !name.ancestors().take_while(inside).any(|above| hidden(&above))
                && !hidden(name)
        };
        for (name, rrset) in zone.rrsets.iter().filter(|(name, rrset)| is_answered(name, rrset.rtype)) {
            let record = |wire: &Vec<u8>| Answered {
                name: name.clone(),
                rtype: rrset.rtype,
                ttl: rrset.ttl,
                rdata: canonical(rrset.rtype, wire),
            };
            // The chain of a CNAME depends on what else there is, so it is asked for itself.
            let (records, referral) = (rrset.records.iter().map(record).collect(), BTreeSet::new());
            let answer = Answer { rcode: Rcode::NOERROR, authoritative: true, records, referral };
            answers.insert(Question { name: name.clone(), rtype: rrset.rtype }, answer);
        }
    }
    answers
}

/// What is known about differences.
struct Reasons {
    /// By name: the type that it is about, if it is about one, and why.
    names: BTreeMap<Name, Vec<(Option<Rtype>, String)>>,
    /// Names that have such a name below them.
    above: BTreeMap<Name, String>,
    /// Zones that were not taken.
    left_out: BTreeSet<Name>,
    /// Names with a DNAME.
    redirections: BTreeSet<Name>,
    /// The zones that are here.
    apexes: BTreeSet<Name>,
}

impl Reasons {
    fn new(migration: &Migration) -> Reasons {
        let mut reasons = Reasons {
            names: BTreeMap::new(),
            above: BTreeMap::new(),
            left_out: migration.left_out.iter().cloned().collect(),
            redirections: BTreeSet::new(),
            apexes: migration.zones.iter().map(|zone| zone.origin.clone()).collect(),
        };
        for finding in &migration.findings {
            reasons.note(finding);
        }
        for zone in &migration.zones {
            for (name, rrset) in &zone.rrsets {
                if rrset.rtype == Rtype::ALIAS {
                    let reason = "ALIAS: each server expands it by a resolver of its own".to_owned();
                    for rtype in [Rtype::A, Rtype::AAAA] {
                        reasons.names.entry(name.clone()).or_default().push((Some(rtype), reason.clone()));
                    }
                }
                if rrset.rtype == Rtype::DNAME {
                    reasons.redirections.insert(name.clone());
                }
            }
        }
        reasons
    }

    fn note(&mut self, finding: &Finding) {
        // What is only noted explains nothing of an answer, and neither does a note on a whole zone.
        let explains = match finding.what {
            What::LeftOut | What::Refused | What::Changed => true,
            What::NotTaken | What::Odd => false,
        };
        let (Ok(name), true) = (Name::parse(&finding.name), explains && !finding.rtype.is_empty()) else { return };
        let reason = format!(
            "{} {}: {}",
            finding.rtype,
            if finding.what == What::Changed { "changed" } else { "not here" },
            finding.reason
        );
        // A record that is left out leaves the name without it: other types of the name are answered otherwise too, if
        // it was all that the name had, or made answers of all types as LUA and CNAME do.
        let rtype = finding.rtype.parse().ok().filter(|rtype| finding.what == What::Changed && *rtype != Rtype::CNAME);
        for above in name.ancestors().skip(1) {
            self.above.entry(above).or_insert_with(|| format!("below it: {name} {reason}"));
        }
        self.names.entry(name).or_default().push((rtype, reason));
    }

    /// Why the answers differ.
    fn of(&self, question: &Question, old: &Reply, new: &Reply) -> Option<String> {
        self.of_name(&question.name, question.rtype)
            .or_else(|| self.of_wildcard(question))
            .or_else(|| old.as_ref().ok().zip(new.as_ref().ok()).and_then(|(old, new)| of_answers(question, old, new)))
            .or_else(|| {
                old.as_ref().ok().zip(new.as_ref().ok()).and_then(|(old, new)| self.of_length(question, old, new))
            })
            .or_else(|| self.of_redirection(question))
            .or_else(|| self.of_chain(question, old, new))
            .or_else(|| {
                let code = |reply: &Reply| reply.as_ref().ok().map(|answer| (answer.rcode, answer.records.is_empty()));
                let denied = matches!(code(new), Some((Rcode::NXDOMAIN, true)));
                let empty = matches!(code(old), Some((Rcode::NOERROR, true)));
                self.above.get(&question.name).filter(|_| denied && empty).cloned()
            })
    }

    fn of_name(&self, name: &Name, rtype: Rtype) -> Option<String> {
        let reasons = self.names.get(name)?;
        reasons.iter().find(|(of, _)| of.is_none_or(|of| of == rtype)).map(|(_, reason)| reason.clone())
    }

    /// A wildcard above the name that is not here as it was there.
    fn of_wildcard(&self, question: &Question) -> Option<String> {
        question.name.ancestors().skip(1).find_map(|above| self.of_name(&above.child(b"*").ok()?, question.rtype))
    }

    /// One server follows a chain into another zone of its own, and the other leaves that to the resolver, which asks again
    /// anyway (RFC 1034 section 4.3.2 lets both).
    fn of_length(&self, question: &Question, old: &Answer, new: &Answer) -> Option<String> {
        let zone = |name: &Name| name.ancestors().find(|above| self.apexes.contains(above));
        let (longer, shorter) = if old.records.len() > new.records.len() { (old, new) } else { (new, old) };
        let own = zone(&question.name)?;
        let is_chain = !shorter.records.is_empty() && shorter.records.iter().all(|one| one.rtype == Rtype::CNAME);
        let elsewhere = |one: &Answered| zone(&one.name).as_ref() != Some(&own);
        let follows = is_chain && shorter.records.is_subset(&longer.records);
        if !follows || !longer.records.difference(&shorter.records).all(elsewhere) {
            return None;
        }
        let who = if std::ptr::eq(longer, old) { "the old server" } else { "this server" };
        Some(format!("the CNAME leads into another zone, where only {who} follows it by itself; resolvers ask again"))
    }

    fn of_redirection(&self, question: &Question) -> Option<String> {
        let above = question.name.ancestors().skip(1).find(|above| self.redirections.contains(above))?;
        Some(format!(
            "below the DNAME of {above}, which this server follows always (RFC 6672), and PowerDNS if it is told to"
        ))
    }

    /// A name that one of the answers leads to.
    fn of_chain(&self, question: &Question, old: &Reply, new: &Reply) -> Option<String> {
        let records = [old, new].into_iter().flatten().flat_map(|answer| &answer.records);
        for record in records.filter(|record| record.rtype == Rtype::CNAME) {
            let target = target(Rtype::CNAME, &record.rdata)?;
            let of_zone = || {
                let zone = target.ancestors().find(|above| self.left_out.contains(above))?;
                Some(format!("the zone {zone} is not here"))
            };
            let wild = || self.of_wildcard(&Question { name: target.clone(), rtype: question.rtype });
            let found = self.of_name(&target, question.rtype).or_else(wild).or_else(of_zone);
            if let Some(reason) = found {
                return Some(format!("by {target}: {reason}"));
            }
        }
        None
    }
}

/// What the answers themselves tell.
fn of_answers(question: &Question, old: &Answer, new: &Answer) -> Option<String> {
    let serial = |answer: &Answer| match answer.records.iter().next() {
        Some(record) if record.rtype == Rtype::SOA && answer.records.len() == 1 => {
            let mut soa = record.rdata.clone();
            let serial = crate::zone::serial::replace(&mut soa, 0)?;
            Some((serial, soa, record.ttl))
        }
        Some(_) | None => None,
    };
    if question.rtype == Rtype::SOA
        && let (Some((was, before, old_ttl)), Some((is, after, new_ttl))) = (serial(old), serial(new))
        && (before, old_ttl) == (after, new_ttl)
    {
        return Some(format!("the serial counts the changes of each server: {was} there, {is} here"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).expect("a name")
    }

    fn answer(records: &[(&str, Rtype, &[u8])]) -> Reply {
        let record = |(owner, rtype, rdata): &(&str, Rtype, &[u8])| Answered {
            name: name(owner),
            rtype: *rtype,
            ttl: 60,
            rdata: rdata.to_vec(),
        };
        let records = records.iter().map(record).collect();
        Ok(Answer { rcode: Rcode::NOERROR, authoritative: true, records, referral: BTreeSet::new() })
    }

    fn question(text: &str, rtype: Rtype) -> Question {
        Question { name: name(text), rtype }
    }

    #[test]
    fn a_difference_is_explained_by_what_was_left_out_at_its_name_or_behind_its_cname() {
        let mut migration = Migration::default();
        let zone = name("example.com.");
        let reason = "a program".to_owned();
        migration.findings.push(Finding::of(&zone, "lua.example.com.", "LUA", What::LeftOut, reason));
        let note = "comment: mine".to_owned();
        migration.findings.push(Finding::of(&zone, "www.example.com.", "A", What::NotTaken, note));
        migration.left_out.push(name("example.org."));
        let reasons = Reasons::new(&migration);
        let (some, none) = (answer(&[("x.", Rtype::A, &[192, 0, 2, 1])]), answer(&[]));
        let explained = |text: &str| reasons.of(&question(text, Rtype::A), &some, &none).is_some();
        assert!(explained("lua.example.com."));
        assert!(!explained("www.example.com."), "a comment changes no answer");
        assert!(!explained("other.example.com."));
        for (target, wanted) in [("lua.example.com.", true), ("a.example.org.", true), ("www.example.com.", false)] {
            let old = answer(&[("c.example.com.", Rtype::CNAME, name(target).as_wire())]);
            let reason = reasons.of(&question("c.example.com.", Rtype::A), &old, &none);
            assert_eq!(reason.is_some(), wanted, "{target}");
        }
    }

    #[test]
    fn a_chain_may_end_where_it_leaves_the_zone() {
        let zone =
            |text: &str| Taken { origin: name(text), rrsets: Vec::new(), keys: BTreeSet::new(), beside: Vec::new() };
        let migration = Migration { zones: vec![zone("a.example."), zone("b.example.")], ..Migration::default() };
        let reasons = Reasons::new(&migration);
        for (target, wanted) in [("www.b.example.", true), ("www.a.example.", false)] {
            let target_name = name(target);
            let link = ("x.a.example.", Rtype::CNAME, target_name.as_wire());
            let (long, short) = (answer(&[link, (target, Rtype::A, &[192, 0, 2, 1])]), answer(&[link]));
            let asked = question("x.a.example.", Rtype::A);
            assert_eq!(reasons.of(&asked, &long, &short).is_some(), wanted, "{target}");
            assert_eq!(reasons.of(&asked, &short, &long).is_some(), wanted, "{target}");
        }
    }

    #[test]
    fn of_an_soa_only_the_serial_may_differ() {
        let soa = |serial: u32, refresh: u32| {
            let numbers = [serial, refresh, 2, 3, 4].map(u32::to_be_bytes).concat();
            let rdata = [name("ns1.example.").as_wire(), name("h.example.").as_wire(), &numbers].concat();
            answer(&[("example.com.", Rtype::SOA, &rdata)])
        };
        let reasons = Reasons::new(&Migration::default());
        let asked = question("example.com.", Rtype::SOA);
        assert!(reasons.of(&asked, &soa(1, 9), &soa(2026113001, 9)).is_some());
        assert!(reasons.of(&asked, &soa(1, 9), &soa(1, 8)).is_none());
    }
}
