//! What encrypted transports add to a reply that is written already: padding (RFC 7830, RFC 8467), and for HTTP how long
//! it may be kept (RFC 8484 section 5.1). They read the finished message, so that replies to all others cost nothing.

use super::MAX_MESSAGE;
use crate::wire::codes::{Rcode, Rtype, option};
use crate::wire::query::{HEADER, read};

/// Replies are padded to a multiple of so many octets (RFC 8467 section 4.1).
pub const BLOCK: usize = 468;
/// Octets of an option before its data.
const OPTION_HEADER: usize = 4;
/// Octets of a record behind its name: type, class, TTL, RDLENGTH.
const FIXED: usize = 10;

/// A record of a message: what its length is, and where it stands.
struct Stands {
    rtype: Rtype,
    ttl: u32,
    /// Where RDLENGTH is.
    length_at: usize,
    /// Where the next record begins.
    end: usize,
}

/// Pads the reply to a query that came with the option of padding itself. A reply without OPT, or with something behind
/// OPT, stays as it is.
pub fn pad(query: &[u8], reply: &mut Vec<u8>) {
    let asked =
        read(query).ok().and_then(|query| query.edns).is_some_and(|edns| edns.option(option::PADDING).is_some());
    if !asked {
        return;
    }
    let Some(opt) = records(reply).and_then(|(_, records)| records.last()).filter(|last| last.rtype == Rtype::OPT)
    else {
        return;
    };
    let bare = reply.len() + OPTION_HEADER;
    let whole = bare.next_multiple_of(BLOCK).min(MAX_MESSAGE);
    let Some(padding) = whole.checked_sub(bare) else { return };
    let Some(length) = reply.get(opt.length_at..opt.length_at + 2) else { return };
    let length = u16::from_be_bytes([length[0], length[1]]);
    let Ok(more) = u16::try_from(OPTION_HEADER + padding) else { return };
    let Some(length) = length.checked_add(more) else { return };
    reply[opt.length_at..opt.length_at + 2].copy_from_slice(&length.to_be_bytes());
    reply.extend_from_slice(&option::PADDING.to_be_bytes());
    reply.extend_from_slice(&(padding as u16).to_be_bytes());
    reply.resize(whole, 0);
}

/// Seconds that the reply may be kept: the lowest TTL of its answer, without one that of the SOA in its authority
/// section; none if there is neither, or the reply is no answer to keep.
pub fn max_age(reply: &[u8]) -> Option<u32> {
    let rcode = Rcode(u16::from(reply.get(3)? & 15));
    if rcode != Rcode::NOERROR && rcode != Rcode::NXDOMAIN {
        return None;
    }
    let ([answers, authorities], all) = records(reply)?;
    let all: Vec<Stands> = all.take(answers + authorities).collect();
    let (answer, authority) = all.split_at_checked(answers)?;
    let negative = authority.iter().filter(|record| record.rtype == Rtype::SOA);
    // A CNAME to a name that is not there is no longer good than that it is not there (RFC 2308 section 5).
    answer.iter().chain(negative).map(|record| record.ttl).min()
}

/// Records of answer and authority section, and all records in their order, as far as they can be read.
fn records(message: &[u8]) -> Option<([usize; 2], impl Iterator<Item = Stands>)> {
    let header = message.first_chunk::<HEADER>()?;
    let count = |at: usize| usize::from(u16::from_be_bytes([header[at], header[at + 1]]));
    let mut at = HEADER;
    for _ in 0..count(4) {
        at = behind_name(message, at)? + 4;
    }
    let all = count(6) + count(8) + count(10);
    let records = (0..all).map_while(move |_| {
        let fixed = behind_name(message, at)?;
        let octets = message.get(fixed..fixed + FIXED)?;
        let number = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        let end = fixed + FIXED + usize::from(number(8));
        at = end;
        let ttl = u32::from(number(4)) << 16 | u32::from(number(6));
        (end <= message.len()).then_some(Stands { rtype: Rtype(number(0)), ttl, length_at: fixed + 8, end })
    });
    Some(([count(6), count(8)], records.inspect(|record| debug_assert!(record.end > 0))))
}

/// Where a name ends that begins at `at`: at its root label, or behind its first pointer (RFC 1035 section 4.1.4).
fn behind_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match usize::from(*message.get(at)?) {
            0 => return Some(at + 1),
            pointer if pointer >= 0xC0 => return Some(at + 2),
            length => at += 1 + length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: &[u8] = b"\x03www\x07example\x00\x00\x01\x00\x01";

    fn message(counts: [u8; 4], rcode: u8, records: &[&[u8]]) -> Vec<u8> {
        let mut out = vec![0, 0, 0x80, rcode];
        counts.iter().for_each(|count| out.extend_from_slice(&[0, *count]));
        out.extend_from_slice(QUESTION);
        records.iter().for_each(|record| out.extend_from_slice(record));
        out
    }

    fn query(options: &[u8]) -> Vec<u8> {
        let mut out = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        out.extend_from_slice(QUESTION);
        out.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, options.len() as u8]);
        out.extend_from_slice(options);
        out
    }

    const OPT: &[u8] = &[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];
    const A: &[u8] = &[0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, 192, 0, 2, 1];

    #[test]
    fn a_reply_is_padded_to_whole_blocks_if_the_query_was_padded() {
        let padded = query(&[0, 12, 0, 2, 0, 0]);
        let mut reply = message([1, 1, 0, 1], 0, &[A, OPT]);
        let before = reply.clone();
        pad(&query(&[]), &mut reply);
        assert_eq!(reply, before, "nobody asked for it");
        pad(&padded, &mut reply);
        assert_eq!(reply.len(), BLOCK);
        let opt = before.len() - 2;
        let rdata = usize::from(u16::from_be_bytes([reply[opt], reply[opt + 1]]));
        assert_eq!(before.len() + rdata, BLOCK);
        assert_eq!(reply[before.len()..before.len() + 2], [0, 12]);
        assert!(reply[before.len() + 4..].iter().all(|octet| *octet == 0));
        let mut bare = message([1, 1, 0, 0], 0, &[A]);
        let length = bare.len();
        pad(&padded, &mut bare);
        assert_eq!(bare.len(), length, "there is no OPT");
    }

    #[test]
    fn padding_never_passes_the_largest_message() {
        let padded = query(&[0, 12, 0, 0]);
        for length in [60_000_u16, 65_400, 65_450] {
            let mut large = vec![0xC0, 12, 0, 16, 0, 1, 0, 0, 0, 60];
            large.extend_from_slice(&length.to_be_bytes());
            large.resize(12 + usize::from(length), 1);
            let mut reply = message([1, 1, 0, 1], 0, &[&large, OPT]);
            pad(&padded, &mut reply);
            assert!(reply.len() <= MAX_MESSAGE, "{length}");
            let (_, records) = records(&reply).expect("a message");
            assert_eq!(records.last().map(|last| last.end), Some(reply.len()));
        }
    }

    #[test]
    fn a_reply_is_kept_for_its_lowest_ttl_or_as_long_as_the_soa_says() {
        let low: &[u8] = &[0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 2];
        let soa: &[u8] = &[0xC0, 12, 0, 6, 0, 1, 0, 0, 0, 7, 0, 0];
        let ns: &[u8] = &[0xC0, 12, 0, 2, 0, 1, 0, 0, 0, 1, 0, 0];
        assert_eq!(max_age(&message([1, 2, 0, 1], 0, &[A, low, OPT])), Some(9));
        assert_eq!(max_age(&message([1, 1, 1, 0], 3, &[A, soa])), Some(7));
        assert_eq!(max_age(&message([1, 0, 1, 1], 0, &[soa, OPT])), Some(7));
        assert_eq!(max_age(&message([1, 0, 1, 0], 0, &[ns])), None, "a referral");
        assert_eq!(max_age(&message([1, 0, 0, 1], 5, &[OPT])), None);
        assert_eq!(max_age(&[0; 4]), None);
    }
}
