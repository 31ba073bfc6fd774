//! Reads a query: header, question, OPT and TSIG, in the order in which answers.md section 1 judges it.
//!
//! Nothing is allocated, and nothing is sized by a count of the message.

use super::codes::{Opcode, Rcode, Rtype, class, option};
use super::edns::Edns;
use super::name::{MAX_LABEL, MAX_NAME};

/// Octets of a header (RFC 1035 section 4.1.1).
pub const HEADER: usize = 12;
/// Most records in the additional section of a QUERY (answers.md H25).
pub const MAX_ADDITIONAL: u16 = 8;
/// Most compression pointers in one name.
pub const MAX_POINTERS: usize = 127;

const FIXED: usize = 10;

/// Why a message gets no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Fewer than 12 octets.
    TooShort,
    /// It is a response.
    IsResponse,
}

/// The question of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The section as it came: QNAME, QTYPE, QCLASS.
    pub octets: &'a [u8],
    /// The name in wire form, uncompressed, letter case as it came.
    pub name: &'a [u8],
    /// QTYPE.
    pub rtype: Rtype,
    /// QCLASS.
    pub class: u16,
}

/// A TSIG record (RFC 8945 section 4.2) as far as an answer to an unknown key needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tsig<'a> {
    /// Key name in wire form; none where it is compressed.
    pub key_name: &'a [u8],
    /// Algorithm name in wire form.
    pub algorithm: &'a [u8],
    /// Time signed, 48 bits.
    pub time: [u8; 6],
    /// Fudge in seconds.
    pub fudge: u16,
    /// Id of the message that was signed.
    pub original_id: u16,
}

/// What is wrong with a message whose header could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Opcode neither QUERY nor NOTIFY nor UPDATE: a bare header (RFC 8906 section 8.1.4).
    UnknownOpcode,
    /// FORMERR, BADVERS: the reply has this code.
    Code(Rcode),
}

/// A message that gets some reply.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Id.
    pub id: u16,
    /// The opcode's four bits as they came.
    pub opcode_bits: u8,
    /// The opcode, if it is one of ours.
    pub opcode: Opcode,
    /// Recursion desired.
    pub recursion_desired: bool,
    /// The question, if there is one and it was read whole.
    pub question: Option<Question<'a>>,
    /// OPT, if there is one and it is sound; an OPT of a higher version has no options here.
    pub edns: Option<Edns<'a>>,
    /// TSIG, if there is one and it is sound.
    pub tsig: Option<Tsig<'a>>,
    /// The first fault found, steps 2 to 7 of answers.md section 1; the question and OPT read before it are kept.
    pub fault: Option<Fault>,
}

/// Reads one message.
pub fn read(octets: &[u8]) -> Result<Query<'_>, Silence> {
    let header = octets.first_chunk::<HEADER>().ok_or(Silence::TooShort)?;
    if header[2] & 0x80 != 0 {
        return Err(Silence::IsResponse);
    }
    let opcode_bits = header[2] >> 3 & 15;
    let mut query = Query {
        id: u16::from_be_bytes([header[0], header[1]]),
        opcode_bits,
        opcode: Opcode::Query,
        recursion_desired: header[2] & 1 != 0,
        question: None,
        edns: None,
        tsig: None,
        fault: None,
    };
    query.opcode = match opcode_bits {
        0 => Opcode::Query,
        4 => Opcode::Notify,
        5 => Opcode::Update,
        _ => {
            query.fault = Some(Fault::UnknownOpcode);
            return Ok(query);
        }
    };
    let count = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let counts = [count(4), count(6), count(8), count(10)];
    query.fault = read_sections(octets, counts, &mut query).err().map(Fault::Code);
    Ok(query)
}

fn read_sections<'a>(octets: &'a [u8], counts: [u16; 4], query: &mut Query<'a>) -> Result<(), Rcode> {
    let [questions, answers, authorities, additional] = counts;
    let mut at = HEADER;
    match questions {
        0 => {}
        1 => {
            let question = read_question(octets).ok_or(Rcode::FORMERR)?;
            at += question.octets.len();
            query.question = Some(question);
        }
        _ => return Err(Rcode::FORMERR),
    }
    let transfer = query.question.is_some_and(|question| question.rtype == Rtype::IXFR);
    if query.opcode == Opcode::Query && (answers > 0 || (authorities > 0 && !transfer) || additional > MAX_ADDITIONAL) {
        return Err(Rcode::FORMERR);
    }
    let mut opt = None;
    let mut tsig = None;
    for _ in 0..u32::from(answers) + u32::from(authorities) {
        let record = read_record(octets, at).ok_or(Rcode::FORMERR)?;
        at = record.end;
        match record.rtype {
            Rtype::OPT => return Err(Rcode::FORMERR),
            Rtype::TSIG => tsig = Some((record, false)),
            _ => {}
        }
    }
    for index in 0..additional {
        let record = read_record(octets, at).ok_or(Rcode::FORMERR)?;
        at = record.end;
        match record.rtype {
            Rtype::OPT if opt.is_some() || record.owner != [0] => return Err(Rcode::FORMERR),
            Rtype::OPT => opt = Some(record),
            Rtype::TSIG => tsig = Some((record, index + 1 == additional && tsig.is_none())),
            _ => {}
        }
    }
    if at != octets.len() {
        return Err(Rcode::FORMERR);
    }
    if let Some(record) = opt {
        query.edns = Some(Edns::read(record.class, record.ttl, record.rdata)?);
    }
    judge_edns(query)?;
    judge_question_count(query, questions)?;
    if let Some((record, alone_and_last)) = tsig {
        let read = if alone_and_last { read_tsig(octets, &record) } else { None };
        query.tsig = Some(read.ok_or(Rcode::FORMERR)?);
    }
    Ok(())
}

/// Steps 5 and 6: version, then the options that have a form.
fn judge_edns(query: &Query<'_>) -> Result<(), Rcode> {
    match &query.edns {
        Some(edns) if edns.version > 0 => Err(Rcode::BADVERS),
        Some(edns) if !edns.options_are_sound() => Err(Rcode::FORMERR),
        Some(_) | None => Ok(()),
    }
}

/// Step 7: no question is fine only to learn a cookie (RFC 7873 section 5.4); NOTIFY and UPDATE have one.
fn judge_question_count(query: &Query<'_>, questions: u16) -> Result<(), Rcode> {
    let asks_for_cookie =
        query.opcode == Opcode::Query && query.edns.as_ref().is_some_and(|edns| edns.option(option::COOKIE).is_some());
    if questions == 1 || asks_for_cookie { Ok(()) } else { Err(Rcode::FORMERR) }
}

/// The question right behind the header. Its name cannot be compressed: nothing stands before it to point to.
fn read_question(octets: &[u8]) -> Option<Question<'_>> {
    let length = super::name::wire_length(&octets[HEADER..])?;
    let end = HEADER + length + 4;
    let fixed = octets.get(HEADER + length..end)?;
    Some(Question {
        octets: &octets[HEADER..end],
        name: &octets[HEADER..HEADER + length],
        rtype: Rtype(u16::from_be_bytes([fixed[0], fixed[1]])),
        class: u16::from_be_bytes([fixed[2], fixed[3]]),
    })
}

struct Record<'a> {
    /// The owner's octets as they stand, perhaps compressed.
    owner: &'a [u8],
    owner_start: usize,
    rtype: Rtype,
    class: u16,
    ttl: u32,
    rdata: &'a [u8],
    end: usize,
}

fn read_record(octets: &[u8], at: usize) -> Option<Record<'_>> {
    let behind = skip_name(octets, at)?;
    let fixed = octets.get(behind..behind + FIXED)?;
    let length = usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
    let start = behind + FIXED;
    let rdata = octets.get(start..start + length)?;
    Some(Record {
        owner: &octets[at..behind],
        owner_start: at,
        rtype: Rtype(u16::from_be_bytes([fixed[0], fixed[1]])),
        class: u16::from_be_bytes([fixed[2], fixed[3]]),
        ttl: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
        rdata,
        end: start + length,
    })
}

/// Where a perhaps compressed name ends, if it is sound: pointers go backwards, at most [`MAX_POINTERS`], at most 255
/// octets in all (RFC 1035 sections 2.3.4 and 4.1.4).
fn skip_name(octets: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut lowest = start;
    let mut behind = None;
    let mut length = 1;
    let mut pointers = 0;
    loop {
        let first = *octets.get(at)?;
        match first {
            0 => return Some(behind.unwrap_or(at + 1)),
            0xc0.. => {
                let target = usize::from(first & 0x3f) << 8 | usize::from(*octets.get(at + 1)?);
                behind = behind.or(Some(at + 2));
                pointers += 1;
                if target >= lowest || target < HEADER || pointers > MAX_POINTERS {
                    return None;
                }
                lowest = target;
                at = target;
            }
            label if usize::from(label) <= MAX_LABEL => {
                length += 1 + usize::from(label);
                at += 1 + usize::from(label);
                if length > MAX_NAME {
                    return None;
                }
            }
            _ => return None,
        }
    }
}

/// The name at `at` as one piece; none if it is compressed. A pointer to a whole name is followed.
fn plain_name(octets: &[u8], mut at: usize) -> Option<&[u8]> {
    for _ in 0..MAX_POINTERS {
        match *octets.get(at)? {
            first @ 0xc0.. => at = usize::from(first & 0x3f) << 8 | usize::from(*octets.get(at + 1)?),
            _ => break,
        }
    }
    let rest = octets.get(at..)?;
    Some(&rest[..super::name::wire_length(rest)?])
}

/// RFC 8945 section 4.2: class ANY, TTL 0, RDATA whole.
fn read_tsig<'a>(octets: &'a [u8], record: &Record<'a>) -> Option<Tsig<'a>> {
    if record.class != class::ANY || record.ttl != 0 {
        return None;
    }
    let algorithm_length = super::name::wire_length(record.rdata)?;
    let (algorithm, rest) = record.rdata.split_at(algorithm_length);
    let (fixed, rest) = rest.split_first_chunk::<10>()?;
    let mac_length = usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
    let rest = rest.get(mac_length..)?;
    let (fixed_end, other) = rest.split_first_chunk::<6>()?;
    if other.len() != usize::from(u16::from_be_bytes([fixed_end[4], fixed_end[5]])) {
        return None;
    }
    Some(Tsig {
        key_name: plain_name(octets, record.owner_start)?,
        algorithm,
        time: fixed[..6].try_into().expect("six octets"),
        fudge: u16::from_be_bytes([fixed[6], fixed[7]]),
        original_id: u16::from_be_bytes([fixed_end[0], fixed_end[1]]),
    })
}
