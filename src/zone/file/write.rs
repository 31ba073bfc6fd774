//! A zone as a file that reads back to the same content (answers.md F10).

use std::fmt;

use super::lines::Lines;
use super::{ZoneFile, data};
use crate::wire::codes::Rtype;
use crate::wire::name::{Name, write_presentation};
use crate::wire::presentation::{generic_text, rdata_to_text};
use crate::wire::rdata::is_well_formed;
use crate::zone::alias::AliasRef;
use crate::zone::content::Zone;
use crate::zone::node::{Node, RRset, RRsetRef};

/// How ALIAS records are written (alias.md section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AliasForm {
    /// `ALIAS target.`, which this server and PowerDNS read.
    #[default]
    Alias,
    /// `ANAME target.`
    Aname,
    /// `TYPE65401 \# length octets` (RFC 3597), which every server reads.
    Generic,
}

/// How a zone is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Form of ALIAS records.
    pub aliases: AliasForm,
}

/// Writes a published zone: `$ORIGIN` and `$TTL` (the SOA's), the SOA, then all names in canonical order, each with its
/// types in ascending order. Only an error of `out` is one.
pub fn write(out: &mut impl fmt::Write, zone: &Zone, options: WriteOptions) -> fmt::Result {
    let mut nodes: Vec<(Vec<u8>, &Node)> = zone
        .nodes()
        .filter(|node| !node.is_empty())
        .filter_map(|node| Some((Name::from_wire(node.name()).ok()?.sort_key(zone.apex())?, node)))
        .collect();
    nodes.sort_by(|left, right| left.0.cmp(&right.0));
    let soa = zone.apex_node().rrset(Rtype::SOA);
    let default_ttl = soa.map_or(DEFAULT_TTL, |soa| soa.ttl);
    let mut writer = Writer::begin(out, zone.apex(), default_ttl, options)?;
    if let Some(soa) = soa {
        writer.rrset(zone.apex().as_wire(), soa.rtype, soa.ttl, soa.records())?;
    }
    for (_, node) in nodes {
        let mut rrsets: Vec<RRsetRef<'_>> = node.rrsets().collect();
        rrsets.sort_by_key(|rrset| rrset.rtype);
        for rrset in rrsets {
            if rrset.rtype != Rtype::SOA || node.name() != zone.apex().as_wire() {
                writer.rrset(node.name(), rrset.rtype, rrset.ttl, rrset.records())?;
            }
        }
    }
    Ok(())
}

/// As [`write()`], of a zone that was read: all its includes and rows become one text, as an upload needs it.
pub fn write_file(out: &mut impl fmt::Write, file: &ZoneFile, options: WriteOptions) -> fmt::Result {
    let is_soa = |(name, rrset): &&(Name, RRset)| rrset.rtype == Rtype::SOA && *name == file.origin;
    let soa = file.rrsets.iter().find(is_soa);
    let default_ttl = soa.map_or(DEFAULT_TTL, |(_, rrset)| rrset.ttl);
    let mut writer = Writer::begin(out, &file.origin, default_ttl, options)?;
    for (name, rrset) in soa.into_iter().chain(file.rrsets.iter().filter(|one| !is_soa(one))) {
        writer.rrset(name.as_wire(), rrset.rtype, rrset.ttl, rrset.records.iter().map(Vec::as_slice))?;
    }
    Ok(())
}

/// `$TTL` of a zone without SOA.
const DEFAULT_TTL: u32 = 3_600;

/// Whether the reader takes `text` for the data that it was made of.
fn reads_back(rtype: Rtype, text: &str, rdata: &[u8]) -> bool {
    let mut lines = Lines::of(text.as_bytes());
    let mut fields = Vec::new();
    lines.next(text.as_bytes(), &mut fields).is_some_and(|line| line.is_ok())
        && data::read(rtype, text.as_bytes(), &fields, None).is_ok_and(|read| read == rdata)
        && lines.next(text.as_bytes(), &mut fields).is_none()
}

struct Writer<'w, W> {
    out: &'w mut W,
    apex: &'w Name,
    default_ttl: u32,
    options: WriteOptions,
}

impl<'w, W: fmt::Write> Writer<'w, W> {
    fn begin(out: &'w mut W, apex: &'w Name, default_ttl: u32, options: WriteOptions) -> Result<Self, fmt::Error> {
        writeln!(out, "$ORIGIN {apex}\n$TTL {default_ttl}")?;
        Ok(Writer { out, apex, default_ttl, options })
    }

    fn rrset<'r>(
        &mut self,
        name: &[u8],
        rtype: Rtype,
        ttl: u32,
        records: impl Iterator<Item = &'r [u8]>,
    ) -> fmt::Result {
        for rdata in records {
            self.owner(name)?;
            if ttl != self.default_ttl {
                write!(self.out, "\t{ttl}")?;
            }
            self.out.write_str("\tIN\t")?;
            self.data(rtype, rdata)?;
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    /// The name relative to the apex.
    fn owner(&mut self, name: &[u8]) -> fmt::Result {
        let labels = &name[..name.len() - self.apex.as_wire().len()];
        if labels.is_empty() {
            return self.out.write_char('@');
        }
        let mut text = String::with_capacity(labels.len() + 8);
        write_presentation(&mut text, labels)?;
        // The last dot is not escaped: it ends the last label.
        text.pop();
        self.out.write_str(&text)
    }

    fn data(&mut self, rtype: Rtype, rdata: &[u8]) -> fmt::Result {
        match rtype {
            Rtype::ALIAS => {
                // A zone that was not published by the controller may hold the target alone.
                let target = AliasRef::decode(rdata).map_or(rdata, |alias| alias.target);
                let form = if is_well_formed(Rtype::CNAME, target) { self.options.aliases } else { AliasForm::Generic };
                match form {
                    AliasForm::Alias => self.out.write_str("ALIAS\t")?,
                    AliasForm::Aname => self.out.write_str("ANAME\t")?,
                    AliasForm::Generic => {
                        return write!(self.out, "TYPE{}\t{}", Rtype::ALIAS.0, generic_text(target));
                    }
                }
                write_presentation(self.out, target)
            }
            Rtype::NS | Rtype::CNAME | Rtype::PTR | Rtype::DNAME if is_well_formed(Rtype::CNAME, rdata) => {
                write!(self.out, "{rtype}\t")?;
                write_presentation(self.out, rdata)
            }
            Rtype::MX if is_well_formed(Rtype::MX, rdata) => {
                write!(self.out, "MX\t{} ", u16::from_be_bytes([rdata[0], rdata[1]]))?;
                write_presentation(self.out, &rdata[2..])
            }
            Rtype::TXT if is_well_formed(Rtype::TXT, rdata) => {
                self.out.write_str("TXT\t")?;
                self.strings(rdata)
            }
            Rtype::A | Rtype::AAAA => write!(self.out, "{rtype}\t{}", rdata_to_text(rtype, rdata)),
            _ => {
                // Printers of rarer types escape what they like: what would not read back is written as octets.
                let text = rdata_to_text(rtype, rdata);
                let text = if reads_back(rtype, &text, rdata) { text } else { generic_text(rdata) };
                write!(self.out, "{rtype}\t{text}")
            }
        }
    }

    fn strings(&mut self, mut rdata: &[u8]) -> fmt::Result {
        let mut separator = "\"";
        while let Some((&length, rest)) = rdata.split_first() {
            let (string, behind) = rest.split_at(usize::from(length).min(rest.len()));
            rdata = behind;
            self.out.write_str(separator)?;
            separator = " \"";
            for &octet in string {
                match octet {
                    b'"' | b'\\' => write!(self.out, "\\{}", char::from(octet))?,
                    0x20..0x7f => self.out.write_char(char::from(octet))?,
                    other => write!(self.out, "\\{other:03}")?,
                }
            }
            self.out.write_char('"')?;
        }
        Ok(())
    }
}
