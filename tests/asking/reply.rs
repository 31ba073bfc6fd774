//! Reads a reply to its last octet, without the server's own code: names, sections, options.

use tenured::wire::codes::Rtype;

/// Bits of the second header word.
pub mod flag {
    pub const QR: u16 = 0x8000;
    pub const AA: u16 = 0x400;
    pub const TC: u16 = 0x200;
    pub const RD: u16 = 0x100;
    pub const RA: u16 = 0x80;
    pub const Z: u16 = 0x40;
    pub const AD: u16 = 0x20;
    pub const CD: u16 = 0x10;
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Record {
    /// Owner in wire form, decompressed, letter case as it came.
    pub owner: Vec<u8>,
    /// Type.
    pub rtype: Rtype,
    /// Class; of OPT the size.
    pub class: u16,
    /// TTL; of OPT rcode, version and flags.
    pub ttl: u32,
    /// RDATA, names decompressed where RFC 1035 lets them be compressed.
    pub rdata: Vec<u8>,
    /// Offset of the owner in the message.
    pub at: usize,
}

/// A reply.
#[derive(Clone, Debug)]
pub struct Reply {
    pub id: u16,
    pub flags: u16,
    /// QNAME, QTYPE and QCLASS as they came, empty if there is no question.
    pub question: Vec<u8>,
    /// Answer, authority, additional.
    pub sections: [Vec<Record>; 3],
    pub octets: usize,
}

impl Reply {
    /// Reads one. The error says what is wrong with it.
    pub fn read(message: &[u8]) -> Result<Reply, String> {
        let word = |at: usize| -> Result<u16, String> {
            let octets = message.get(at..at + 2).ok_or_else(|| format!("ends at {at}"))?;
            Ok(u16::from_be_bytes([octets[0], octets[1]]))
        };
        let mut at = 12;
        let questions = word(4)?;
        for _ in 0..questions {
            at = read_name(message, at)?.1 + 4;
        }
        let question = message.get(12..at).ok_or("question past the end")?.to_vec();
        let mut sections: [Vec<Record>; 3] = Default::default();
        for (index, section) in sections.iter_mut().enumerate() {
            for _ in 0..word(6 + 2 * index)? {
                let start = at;
                let (owner, behind) = read_name(message, at)?;
                let rtype = Rtype(word(behind)?);
                let class = word(behind + 2)?;
                let ttl = u32::from(word(behind + 4)?) << 16 | u32::from(word(behind + 6)?);
                let end = behind + 10 + usize::from(word(behind + 8)?);
                let rdata = read_rdata(message, rtype, behind + 10, end)?;
                at = end;
                section.push(Record { owner, rtype, class, ttl, rdata, at: start });
            }
        }
        if at != message.len() {
            return Err(format!("{} octets behind the last record", message.len() - at));
        }
        Ok(Reply { id: word(0)?, flags: word(2)?, question, sections, octets: message.len() })
    }

    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub fn opcode(&self) -> u16 {
        self.flags >> 11 & 15
    }

    pub fn opt(&self) -> Option<&Record> {
        self.sections[2].iter().find(|record| record.rtype == Rtype::OPT)
    }

    /// The code with its extended bits.
    pub fn rcode(&self) -> u16 {
        self.flags & 15 | self.opt().map_or(0, |opt| (opt.ttl >> 20) as u16 & 0xff0)
    }

    /// Records besides OPT and TSIG.
    pub fn records(&self, section: usize) -> impl Iterator<Item = &Record> {
        self.sections[section].iter().filter(|record| !matches!(record.rtype, Rtype::OPT | Rtype::TSIG))
    }

    /// EDNS options in their order. The error says what is wrong with them.
    pub fn options(&self) -> Result<Vec<(u16, Vec<u8>)>, String> {
        let mut options = Vec::new();
        let mut rest = self.opt().map_or(&[][..], |opt| &opt.rdata[..]);
        while !rest.is_empty() {
            let (head, behind) = rest.split_first_chunk::<4>().ok_or("an option is cut")?;
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            let data = behind.get(..length).ok_or("an option reaches over the end")?;
            options.push((u16::from_be_bytes([head[0], head[1]]), data.to_vec()));
            rest = &behind[length..];
        }
        Ok(options)
    }
}

/// The name at an offset in wire form, and the offset behind it. Pointers go backwards.
pub fn read_name(message: &[u8], mut at: usize) -> Result<(Vec<u8>, usize), String> {
    let mut name = Vec::new();
    let mut behind = None;
    let mut lowest = at;
    loop {
        let first = usize::from(*message.get(at).ok_or("name past the end")?);
        match first {
            0 => {
                name.push(0);
                return if name.len() > 255 {
                    Err("name over 255 octets".to_owned())
                } else {
                    Ok((name, behind.unwrap_or(at + 1)))
                };
            }
            0xc0.. => {
                let target = (first & 0x3f) << 8 | usize::from(*message.get(at + 1).ok_or("pointer past the end")?);
                behind = behind.or(Some(at + 2));
                if target >= lowest || target < 12 {
                    return Err(format!("pointer at {at} to {target} does not go backwards"));
                }
                lowest = target;
                at = target;
            }
            1..=63 => {
                name.extend_from_slice(message.get(at..=at + first).ok_or("label past the end")?);
                at += 1 + first;
            }
            _ => return Err(format!("label type {first:#x}")),
        }
    }
}

/// RDATA with the names of RFC 1035 types decompressed; in all other types names must stand as they are (RFC 3597
/// section 4), which whoever looks into them will find.
fn read_rdata(message: &[u8], rtype: Rtype, start: usize, end: usize) -> Result<Vec<u8>, String> {
    let whole = message.get(start..end).ok_or("RDATA past the end")?;
    let (before, names, after) = match rtype {
        Rtype::NS | Rtype::CNAME | Rtype::PTR | Rtype::MB | Rtype::MG | Rtype::MR | Rtype::MD | Rtype::MF => (0, 1, 0),
        Rtype::SOA => (0, 2, 20),
        Rtype::MINFO => (0, 2, 0),
        Rtype::MX => (2, 1, 0),
        _ => return Ok(whole.to_vec()),
    };
    let mut rdata = whole.get(..before).ok_or("RDATA too short")?.to_vec();
    let mut at = start + before;
    for _ in 0..names {
        let (name, behind) = read_name(message, at)?;
        rdata.extend_from_slice(&name);
        at = behind;
    }
    if at + after != end {
        return Err(format!("RDATA of {rtype} of the wrong length"));
    }
    rdata.extend_from_slice(&message[at..end]);
    Ok(rdata)
}
