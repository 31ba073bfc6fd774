//! Who the server is: TXT in class CHAOS, only where configured (RFC 4892).

use super::{Rules, Verdict};
use crate::wire::codes::{Rcode, Rtype, class};
use crate::wire::hashed::HashedName;
use crate::wire::query::{HEADER, Question};
use crate::wire::writer::{Section, Writer};

const ID: [&[u8]; 2] = [b"\x02id\x06server\0", b"\x08hostname\x04bind\0"];
const VERSION: [&[u8]; 2] = [b"\x07version\x06server\0", b"\x07version\x04bind\0"];

/// The answer to a question of class CHAOS: a configured text, or REFUSED.
pub(super) fn answer(rules: &Rules, question: &Question<'_>, name: &HashedName, writer: &mut Writer<'_>) -> Verdict {
    let text = if ID.contains(&name.wire()) {
        rules.nsid.as_deref()
    } else if VERSION.contains(&name.wire()) {
        rules.version.as_deref()
    } else {
        None
    };
    let (Some(text), true) = (text, matches!(question.rtype, Rtype::TXT | Rtype::ANY)) else {
        return Verdict::code(Rcode::REFUSED);
    };
    let mut rdata = [0_u8; 256];
    let length = text.len().min(255);
    rdata[0] = length as u8;
    rdata[1..=length].copy_from_slice(&text[..length]);
    let fixed = [0xc0, HEADER as u8, 0, Rtype::TXT.0 as u8, 0, class::CH as u8, 0, 0, 0, 0];
    writer.set_authoritative();
    match writer.opaque(Section::Answer, &fixed, &rdata[..=length]) {
        Ok(()) => {}
        Err(_) => writer.set_truncated(),
    }
    Verdict::code(Rcode::NOERROR)
}
