//! Query + Snapshot + now → response: pure, without allocation, lock or wait (answers.md).
//!
//! [`respond`] judges a message in the order of answers.md section 1; what a name has is decided by
//! [`crate::zone::content::Lookup`] and written by `sections`.

mod additional;
pub mod encrypted;
mod flatten;
mod identity;
mod opt;
pub mod rate;
mod sections;

use std::net::IpAddr;
use std::sync::Arc;

use rate::{Judgement, RateLimiter};

use crate::wire::codes::{ExtendedError, Opcode, Rcode, Rtype, class};
use crate::wire::compression::Compression;
use crate::wire::cookie::CookieSecrets;
use crate::wire::hashed::HashedName;
use crate::wire::query::{Fault, Query, Question, Silence, Tsig, read};
use crate::wire::writer::{Section, Writer};
use crate::zone::alias::{AliasEntry, Moment, TargetKey};
use crate::zone::served::Serving;
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::Trust;

/// Largest UDP message that is read, in octets; a longer one is FORMERR (reliability.md section 4).
pub const MAX_UDP_QUERY: usize = 4_096;
/// Largest message over TCP (RFC 1035 section 4.2.2).
pub const MAX_MESSAGE: usize = 65_535;
/// Most octets of a UDP response to a client without EDNS (RFC 1035 section 4.2.1).
const PLAIN_UDP: usize = 512;
/// Most octets of a UDP response to a client without a good cookie (answers.md A4).
const UNPROVEN_UDP: u16 = 1_232;

/// What ANY over UDP is answered with (RFC 8482).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyPolicy {
    /// One RRset of the name.
    Minimal,
    /// All of them, as over TCP.
    Full,
}

/// What goes with the extended error of an ALIAS (RFC 8914).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasText {
    /// The code alone.
    None,
    /// A text that does not name the target.
    Status,
    /// That, and the name of the target.
    Target,
}

/// What a query for the type of ALIAS records, TYPE65401, gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasType {
    /// NODATA.
    Hidden,
    /// The record.
    Shown,
}

/// What the configuration says about answers.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Our UDP size: most octets of a response over UDP, and what OPT says (RFC 6891 section 6.2.3), 512 to 4,096.
    pub edns_size: u16,
    /// ANY over UDP.
    pub any: AnyPolicy,
    /// NSID (RFC 5001), and `id.server` and `hostname.bind`; none by default.
    pub nsid: Option<Vec<u8>>,
    /// `version.server` and `version.bind` (RFC 4892); none by default.
    pub version: Option<Vec<u8>>,
    /// Secrets of server cookies.
    pub cookies: CookieSecrets,
    /// Whether a query over UDP needs a good server cookie (RFC 7873 section 5.2.3).
    pub enforce_cookies: bool,
    /// Idle time-out of TCP connections in units of 100 ms (RFC 7828).
    pub keepalive: u16,
    /// Hosted zones that ALIAS records may enter.
    pub trust: Trust,
    /// What goes with the extended error of an ALIAS.
    pub alias_text: AliasText,
    /// What a query for ALIAS itself gets.
    pub alias_type: AliasType,
    /// Limits like replies over UDP; none by default.
    pub limiter: Option<Arc<RateLimiter>>,
}

impl Rules {
    /// The defaults of operations.md section 2.
    pub fn new(cookies: CookieSecrets) -> Rules {
        Rules {
            edns_size: 1232,
            any: AnyPolicy::Minimal,
            nsid: None,
            version: None,
            cookies,
            enforce_cookies: false,
            keepalive: 300,
            trust: Trust::default(),
            alias_text: AliasText::Status,
            alias_type: AliasType::Hidden,
            limiter: None,
        }
    }
}

/// How a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP: limited in size.
    Udp,
    /// TCP and all that is carried like it.
    Tcp,
}

/// What becomes of a query for an ALIAS whose target was never resolved (alias.md section 6.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// The edge can keep the query: [`Outcome::Pending`].
    Wait,
    /// It cannot, or has kept it long enough: SERVFAIL.
    Ended,
}

/// A message to answer.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The message.
    pub octets: &'a [u8],
    /// How it came.
    pub transport: Transport,
    /// Where from.
    pub client: IpAddr,
    /// When.
    pub now: Moment,
    /// Whether the query may be kept for later.
    pub patience: Patience,
}

/// What rate limiting made of a reply that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Nothing.
    Not,
    /// It was emptied, with TC, so that a real client comes again over TCP.
    Truncated,
}

/// What a message leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No reply.
    Silent(Silence),
    /// A reply of so many octets, the first ones of the buffer.
    Reply {
        /// Octets.
        length: usize,
        /// Its code.
        rcode: Rcode,
        /// Type of the question that it answers; none where the message had none that could be read.
        rtype: Option<Rtype>,
        /// What rate limiting made of it.
        limited: Limited,
        /// What became of the ALIAS that it depends on; none if it depends on none.
        flattened: Option<Serving>,
    },
    /// No reply: there were too many like it.
    Limited {
        /// Type of the question.
        rtype: Option<Rtype>,
    },
    /// The answer depends on a target that is being resolved: ask again when it is known.
    Pending(TargetKey),
}

/// Names being looked at; large, so each thread makes them once.
#[derive(Clone, Debug)]
pub struct Scratch {
    names: Names,
    written: Compression,
}

/// The name that is looked up, and the one whose addresses are added.
#[derive(Clone, Debug)]
struct Names {
    name: HashedName,
    target: HashedName,
    overdue: Option<Arc<AliasEntry>>,
    /// What became of the ALIAS that the reply depends on; its target is in `target`. None if it depends on none.
    flattened: Option<Serving>,
}

impl Scratch {
    /// Empty.
    pub fn new() -> Scratch {
        let (name, target) = (HashedName::empty(), HashedName::empty());
        let names = Names { name, target, overdue: None, flattened: None };
        Scratch { names, written: Compression::new() }
    }

    /// A target that the last query met past its time, for the ALIAS engine: at most one a second and target.
    #[inline]
    pub fn take_overdue(&mut self) -> Option<Arc<AliasEntry>> {
        self.names.overdue.take()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::new()
    }
}

/// What the reply says besides its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    rcode: Rcode,
    error: Option<(ExtendedError, &'static str)>,
    /// What rate limiting counts the reply by: a hash of the zone and of the owner of the data, 0 if there is none.
    account: u64,
}

impl Verdict {
    const fn code(rcode: Rcode) -> Verdict {
        Verdict { rcode, error: None, account: 0 }
    }

    const fn because(rcode: Rcode, error: ExtendedError, text: &'static str) -> Verdict {
        Verdict { rcode, error: Some((error, text)), account: 0 }
    }
}

/// Answers one message into `out`, which holds at least `rules.edns_size` octets for UDP and [`MAX_MESSAGE`] for TCP.
#[inline]
pub fn respond(
    rules: &Rules,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    request: &Request<'_>,
    out: &mut [u8],
) -> Outcome {
    let mut query = match read(request.octets) {
        Ok(query) => query,
        Err(silence) => return Outcome::Silent(silence),
    };
    if request.transport == Transport::Udp && request.octets.len() > MAX_UDP_QUERY {
        query = Query { question: None, edns: None, tsig: None, fault: Some(Fault::Code(Rcode::FORMERR)), ..query };
    }
    if query.fault == Some(Fault::UnknownOpcode) {
        query.recursion_desired = false;
        let mut writer = Writer::new(out, &mut scratch.written, &query, PLAIN_UDP);
        writer.set_rcode(Rcode::NOTIMP);
        let (length, rcode) = (writer.finish(), Rcode::NOTIMP);
        return Outcome::Reply { length, rcode, rtype: None, limited: Limited::Not, flattened: None };
    }
    let Scratch { names, written } = scratch;
    if let Some(question) = &query.question {
        names.name.load(snapshot.key(), question.name);
    }
    let mut reply_options = opt::ReplyOptions::of(rules, request, &query);
    let mut writer = Writer::new(out, written, &query, limit(rules, request.transport, &query, &reply_options));
    writer.reserve(reply_options.octets());
    names.flattened = None;
    let verdict = match judge(rules, snapshot, names, request, &query, &reply_options, &mut writer) {
        Ok(verdict) => verdict,
        Err(target) => return Outcome::Pending(target),
    };
    if verdict.rcode != Rcode::NOERROR {
        writer.set_rcode(verdict.rcode);
    }
    let rtype = query.question.as_ref().map(|question| question.rtype);
    let mut limited = Limited::Not;
    if let Some(limiter) = &rules.limiter
        && request.transport == Transport::Udp
        && !reply_options.has_good_cookie()
    {
        match limiter.judge(verdict.account, verdict.rcode, request.client, request.now) {
            Judgement::Send => {}
            Judgement::Drop => return Outcome::Limited { rtype },
            Judgement::Truncate => {
                writer.clear_records();
                writer.set_truncated();
                limited = Limited::Truncated;
            }
        }
    }
    writer.release(reply_options.octets());
    let text = if names.flattened.is_some() { rules.alias_text } else { AliasText::Status };
    reply_options.finish(&mut writer, verdict, text, &names.target);
    if verdict.rcode == Rcode::NOTAUTH
        && let Some(tsig) = &query.tsig
    {
        write_bad_key(&mut writer, tsig);
    }
    Outcome::Reply { length: writer.finish(), rcode: verdict.rcode, rtype, limited, flattened: names.flattened }
}

/// Most octets of the reply. A client that has not shown where it is gets no large ones (answers.md A4).
#[inline]
fn limit(rules: &Rules, transport: Transport, query: &Query<'_>, options: &opt::ReplyOptions<'_>) -> usize {
    match (transport, &query.edns) {
        (Transport::Tcp, _) => MAX_MESSAGE,
        (Transport::Udp, Some(edns)) => {
            let ours = if options.has_good_cookie() { rules.edns_size } else { rules.edns_size.min(UNPROVEN_UDP) };
            usize::from(edns.size.min(ours))
        }
        (Transport::Udp, None) => PLAIN_UDP,
    }
}

/// Steps 3 to 13 of answers.md section 1. `Err` is the target that the answer waits for.
#[inline]
fn judge(
    rules: &Rules,
    snapshot: &Snapshot,
    names: &mut Names,
    request: &Request<'_>,
    query: &Query<'_>,
    options: &opt::ReplyOptions<'_>,
    writer: &mut Writer<'_>,
) -> Result<Verdict, TargetKey> {
    match query.fault {
        Some(Fault::Code(rcode)) => return Ok(Verdict::code(rcode)),
        Some(Fault::UnknownOpcode) => return Ok(Verdict::code(Rcode::NOTIMP)),
        None => {}
    }
    if query.tsig.is_some() {
        // There are no keys, so every key is unknown (RFC 8945 section 5.2.1).
        return Ok(Verdict::code(Rcode::NOTAUTH));
    }
    match query.opcode {
        Opcode::Query => {}
        Opcode::Notify | Opcode::Update => return Ok(Verdict::code(Rcode::REFUSED)),
    }
    // Who asks for a cookie alone has none yet (RFC 7873 section 5.4).
    let Some(question) = &query.question else { return Ok(Verdict::code(Rcode::NOERROR)) };
    if rules.enforce_cookies && options.wants_better_cookie() && request.transport == Transport::Udp {
        return Ok(Verdict::code(Rcode::BADCOOKIE));
    }
    if question.class == class::CH {
        return Ok(identity::answer(rules, question, &names.name, writer));
    }
    if question.class != class::IN {
        return Ok(Verdict::code(Rcode::REFUSED));
    }
    if let Some(verdict) = judge_type(snapshot, names, request, question) {
        return Ok(verdict);
    }
    let Some(zone) = snapshot.find_zone(&names.name, question.rtype == Rtype::DS) else {
        return Ok(Verdict::because(Rcode::REFUSED, ExtendedError::NOT_AUTHORITATIVE, ""));
    };
    sections::Answer::new(rules, snapshot, zone, names, request, question, writer).write()
}

/// Step 10: types that are not looked up.
#[inline]
fn judge_type(snapshot: &Snapshot, names: &Names, request: &Request<'_>, question: &Question<'_>) -> Option<Verdict> {
    match (question.rtype, request.transport) {
        (Rtype::OPT | Rtype::TKEY | Rtype::TSIG, _) => Some(Verdict::code(Rcode::FORMERR)),
        (Rtype::NXNAME, _) => Some(Verdict::because(Rcode::FORMERR, ExtendedError::INVALID_QUERY_TYPE, "")),
        (Rtype::AXFR, Transport::Udp) => Some(Verdict::code(Rcode::NOTIMP)),
        (Rtype::IXFR, Transport::Udp) => Some(Verdict::code(Rcode::REFUSED)),
        (Rtype::AXFR | Rtype::IXFR, Transport::Tcp) => {
            let zone = snapshot.find_zone(&names.name, false);
            let is_apex = zone.is_some_and(|zone| zone.apex_labels() == names.name.labels());
            Some(if is_apex {
                Verdict::because(Rcode::REFUSED, ExtendedError::PROHIBITED, "")
            } else {
                Verdict::code(Rcode::NOTAUTH)
            })
        }
        _ => None,
    }
}

/// The unsigned TSIG with BADKEY that answers a key we do not have (RFC 8945 section 5.3.2).
fn write_bad_key(writer: &mut Writer<'_>, tsig: &Tsig<'_>) {
    const BADKEY: u16 = 17;
    let mut fixed = [0_u8; 255 + 8];
    let name_length = tsig.key_name.len();
    fixed[..name_length].copy_from_slice(tsig.key_name);
    let rest = [0, Rtype::TSIG.0 as u8, 0, class::ANY as u8, 0, 0, 0, 0];
    fixed[name_length..name_length + 8].copy_from_slice(&rest);
    let mut rdata = [0_u8; 255 + 16];
    let algorithm_length = tsig.algorithm.len();
    rdata[..algorithm_length].copy_from_slice(tsig.algorithm);
    let behind = &mut rdata[algorithm_length..algorithm_length + 16];
    behind[..6].copy_from_slice(&tsig.time);
    behind[6..8].copy_from_slice(&tsig.fudge.to_be_bytes());
    behind[10..12].copy_from_slice(&tsig.original_id.to_be_bytes());
    behind[12..14].copy_from_slice(&BADKEY.to_be_bytes());
    // Without room the error stands in the header alone.
    let _ = writer.opaque(Section::Additional, &fixed[..name_length + 8], &rdata[..algorithm_length + 16]);
}
