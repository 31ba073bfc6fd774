//! The OPT record of a reply: our size, DO, cookie, NSID, keepalive, and extended errors where there is room.

use super::{AliasText, Request, Rules, Transport, Verdict};
use crate::wire::codes::{Rtype, option};
use crate::wire::cookie::{CLIENT, SERVER, Validity};
use crate::wire::hashed::HashedName;
use crate::wire::name::{Labels, MAX_NAME};
use crate::wire::query::Query;
use crate::wire::writer::{Section, Writer};

/// Octets of an OPT record without options: root, type, class, TTL, RDLENGTH.
const FIXED: usize = 11;
const OPTION_HEADER: usize = 4;
/// Longest NSID that is sent.
pub(super) const MAX_NSID: usize = 128;
/// Most octets of all options together.
const MAX_OPTIONS: usize = 256;
const COOKIE: usize = CLIENT + SERVER;

/// What the reply's OPT will say, decided before the records are written so that room is kept for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyOptions<'a> {
    /// None if the query had no OPT: then the reply has none.
    opt: Option<Opt<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Opt<'a> {
    size: u16,
    dnssec_ok: bool,
    cookie: Option<[u8; COOKIE]>,
    cookie_is_good: bool,
    nsid: Option<&'a [u8]>,
    keepalive: Option<u16>,
}

impl<'a> ReplyOptions<'a> {
    /// Decides them.
    #[inline]
    pub(super) fn of(rules: &'a Rules, request: &Request<'_>, query: &Query<'_>) -> ReplyOptions<'a> {
        let Some(edns) = &query.edns else { return ReplyOptions { opt: None } };
        let mut opt = Opt {
            size: rules.edns_size,
            dnssec_ok: edns.dnssec_ok,
            cookie: None,
            cookie_is_good: false,
            nsid: None,
            keepalive: None,
        };
        if edns.options_are_sound() {
            if let Some((client, server)) = edns.option(option::COOKIE).and_then(|data| data.split_first_chunk()) {
                let (cookie, good) = reply_cookie(rules, request, client, server);
                opt.cookie = Some(cookie);
                opt.cookie_is_good = good;
            }
            if edns.option(option::NSID).is_some() {
                opt.nsid = rules.nsid.as_deref().map(|nsid| &nsid[..nsid.len().min(MAX_NSID)]);
            }
            if request.transport == Transport::Tcp && edns.option(option::KEEPALIVE).is_some() {
                opt.keepalive = Some(rules.keepalive);
            }
        }
        ReplyOptions { opt: Some(opt) }
    }

    /// Whether the query came with a server cookie of ours.
    #[inline]
    pub(super) fn has_good_cookie(&self) -> bool {
        self.opt.is_some_and(|opt| opt.cookie_is_good)
    }

    /// Whether there is a cookie option, and its server cookie is not good.
    pub(super) fn wants_better_cookie(&self) -> bool {
        self.opt.is_some_and(|opt| opt.cookie.is_some() && !opt.cookie_is_good)
    }

    /// Octets to keep free, extended errors not counted: they go first when room is short.
    #[inline]
    pub(super) fn octets(&self) -> usize {
        let Some(opt) = &self.opt else { return 0 };
        let part = |octets: Option<usize>| octets.map_or(0, |octets| OPTION_HEADER + octets);
        FIXED
            + part(opt.cookie.map(|cookie| cookie.len()))
            + part(opt.nsid.map(<[u8]>::len))
            + part(opt.keepalive.map(|_| 2))
    }

    /// Writes the OPT, which the room kept is enough for.
    #[inline]
    pub(super) fn finish(&mut self, writer: &mut Writer<'_>, verdict: Verdict, alias: AliasText, target: &HashedName) {
        let Some(opt) = &self.opt else { return };
        let mut options = Options { octets: [0; MAX_OPTIONS], length: 0 };
        if let Some(cookie) = &opt.cookie {
            options.push(option::COOKIE, &[cookie]);
        }
        if let Some(nsid) = opt.nsid {
            options.push(option::NSID, &[nsid]);
        }
        if let Some(keepalive) = opt.keepalive {
            options.push(option::KEEPALIVE, &[&keepalive.to_be_bytes()]);
        }
        if let Some((error, text)) = verdict.error {
            let room = writer.room().saturating_sub(FIXED + options.length);
            let mut shown = [0_u8; 4 * MAX_NAME];
            let (text, behind): (&str, &[u8]) = match alias {
                AliasText::None => ("", b""),
                AliasText::Status => (text, b""),
                AliasText::Target => (text, presented(target, &mut shown)),
            };
            let between: &[u8] = if text.is_empty() || behind.is_empty() { b"" } else { b": " };
            let length = OPTION_HEADER + 2;
            let all = length + text.len() + between.len() + behind.len();
            if all <= room && options.length + all <= MAX_OPTIONS {
                options.push(option::ERROR, &[&error.0.to_be_bytes(), text.as_bytes(), between, behind]);
            } else if length <= room {
                options.push(option::ERROR, &[&error.0.to_be_bytes()]);
            }
        }
        let mut fixed = [0_u8; FIXED - 2];
        fixed[2] = Rtype::OPT.0 as u8;
        fixed[3..5].copy_from_slice(&opt.size.to_be_bytes());
        fixed[5] = (verdict.rcode.0 >> 4) as u8;
        fixed[7] = u8::from(opt.dnssec_ok) << 7;
        writer
            .opaque(Section::Additional, &fixed, &options.octets[..options.length])
            .expect("room for OPT was kept from the beginning");
    }
}

/// A name in presentation form (RFC 1035 section 5.1), in room for the longest.
fn presented<'a>(name: &HashedName, room: &'a mut [u8; 4 * MAX_NAME]) -> &'a [u8] {
    let mut length = 0;
    let mut put = |octets: &[u8]| {
        if let Some(place) = room.get_mut(length..length + octets.len()) {
            place.copy_from_slice(octets);
            length += octets.len();
        }
    };
    for label in Labels::of(name.wire()) {
        for &octet in label {
            match octet {
                b'.' | b'\\' => put(&[b'\\', octet]),
                b'!'..=b'~' => put(&[octet]),
                _ => put(&[b'\\', b'0' + octet / 100, b'0' + octet / 10 % 10, b'0' + octet % 10]),
            }
        }
        put(b".");
    }
    &room[..length]
}

/// The cookie option of the reply, and whether the one that came was good (RFC 9018 section 4).
fn reply_cookie(rules: &Rules, request: &Request<'_>, client: &[u8; CLIENT], server: &[u8]) -> ([u8; COOKIE], bool) {
    // Cookies count seconds modulo 2^32 (RFC 9018 section 4.3).
    let now = (request.now.0 / 1000) as u32;
    let validity = rules.cookies.judge(client, server, request.client, now);
    let mut cookie = [0; COOKIE];
    cookie[..CLIENT].copy_from_slice(client);
    match validity {
        Validity::Valid => cookie[CLIENT..].copy_from_slice(server),
        Validity::Renew | Validity::Invalid => {
            cookie[CLIENT..].copy_from_slice(&rules.cookies.make(client, request.client, now));
        }
    }
    (cookie, validity != Validity::Invalid)
}

struct Options {
    octets: [u8; MAX_OPTIONS],
    length: usize,
}

impl Options {
    /// Adds an option; one that does not fit is left out.
    fn push(&mut self, code: u16, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let Some(room) = self.octets.get_mut(self.length..self.length + OPTION_HEADER + length) else { return };
        room[..2].copy_from_slice(&code.to_be_bytes());
        room[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        let mut at = OPTION_HEADER;
        for part in parts {
            room[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.length += at;
    }
}
