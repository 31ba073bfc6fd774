//! Lines to records: owners, TTLs, classes, types, and the directives (RFC 1035 section 5.1, RFC 2308 section 4).

use std::collections::BTreeMap;

use super::fields::{Class, class, name, rtype, seconds, shown, ttl};
use super::generate::{MAX_GENERATED_IN_ALL, MAX_GENERATED_OCTETS, Range, substitute};
use super::include::{Include, MAX_INCLUDE_DEPTH, MAX_INCLUDED_FILES};
use super::lines::{Beginning, Fault, Field, Line, Lines};
use super::{Finding, MAX_ERRORS, data};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Position in [`Records::files`].
    pub(super) file: u32,
    /// Line, from 1.
    pub(super) line: u32,
}

/// A record as read.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Position in [`Records::owners`].
    pub(super) owner: u32,
    /// The type.
    pub(super) rtype: Rtype,
    /// Seconds; none if the SOA's MINIMUM is to be taken and the SOA was not met yet.
    pub(super) ttl: Option<u32>,
    /// Where it stands.
    pub(super) place: Place,
    /// Its data.
    pub(super) rdata: Vec<u8>,
}

/// All that a reading gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// Files in the order in which they were opened.
    pub(super) files: Vec<String>,
    /// Owners in the order in which they were met, with repeats.
    pub(super) owners: Vec<Name>,
    /// The records in the order of the file.
    pub(super) records: Vec<Record>,
    /// Records of types that a signer makes: how many, and the first place.
    pub(super) left_out: BTreeMap<Rtype, (u64, Place)>,
    /// Errors of single lines, at most [`MAX_ERRORS`].
    pub(super) errors: Vec<(Place, String)>,
}

impl Records {
    /// A finding at a place.
    pub(super) fn finding(&self, place: Place, text: String) -> Finding {
        Finding { file: self.files[place.file as usize].clone(), line: place.line as usize, text }
    }
}

/// The owner that a line without one has.
#[derive(Clone, Copy, Debug)]
enum LastOwner {
    None,
    /// The last owner was faulty: its records are looked at, and not kept.
    Faulty,
    At(u32),
}

/// What holds for the lines of one file.
struct Scope {
    file: u32,
    origin: Option<Name>,
    owner: LastOwner,
}

/// An open file.
struct Source<'t> {
    text: std::borrow::Cow<'t, [u8]>,
    lines: Lines,
    scope: Scope,
}

/// What follows a line.
enum Next<'t> {
    Line,
    Open(Source<'t>),
}

/// Reads a text and all that it includes.
pub(super) fn read(text: &[u8], file: &str, origin: Option<&Name>, include: &mut dyn Include) -> Records {
    let mut reader = Reader {
        include,
        out: Records { files: vec![file.to_owned()], ..Records::default() },
        default_ttl: None,
        last_ttl: None,
        minimum: None,
        generated: 0,
        generated_octets: 0,
    };
    let scope = Scope { file: 0, origin: origin.cloned(), owner: LastOwner::None };
    let mut open = vec![Source { text: text.into(), lines: Lines::of(text), scope }];
    while let Some(mut source) = open.pop() {
        let Some(next) = reader.read_source(&mut source, open.len()) else { continue };
        open.push(source);
        open.push(next);
    }
    reader.out
}

struct Reader<'i> {
    include: &'i mut dyn Include,
    out: Records,
    /// `$TTL`.
    default_ttl: Option<u32>,
    /// The last TTL that a record had itself.
    last_ttl: Option<u32>,
    /// MINIMUM of the SOA.
    minimum: Option<u32>,
    generated: u64,
    generated_octets: u64,
}

impl Reader<'_> {
    /// Reads up to the end, the last error that is reported, or an `$INCLUDE`, whose file is given back.
    fn read_source<'t>(&mut self, source: &mut Source<'t>, depth: usize) -> Option<Source<'t>> {
        let Source { text, lines, scope } = source;
        let mut fields = Vec::new();
        while self.out.errors.len() < MAX_ERRORS {
            let line = match lines.next(text, &mut fields)? {
                Ok(line) => line,
                Err(Fault { number, text }) => {
                    self.error(scope, number, text);
                    continue;
                }
            };
            let first = fields.first().map_or(&b""[..], |field| field.of(text));
            let done = if first.first() == Some(&b'$') {
                self.directive(scope, line, text, &fields, depth)
            } else {
                self.record(scope, line, text, &fields).map(|()| Next::Line)
            };
            match done {
                Ok(Next::Line) => {}
                Ok(Next::Open(source)) => return Some(source),
                Err(error) => self.error(scope, line.number, error),
            }
        }
        None
    }

    fn error(&mut self, scope: &Scope, line: usize, text: String) {
        if self.out.errors.len() < MAX_ERRORS {
            self.out.errors.push((place(scope, line), text));
        }
    }

    fn record(&mut self, scope: &mut Scope, line: Line, text: &[u8], fields: &[Field]) -> Result<(), String> {
        let mut rest = fields;
        if line.beginning == Beginning::Field {
            let (first, behind) = fields.split_first().ok_or("there is nothing on this line")?;
            rest = behind;
            scope.owner = LastOwner::Faulty;
            scope.owner = LastOwner::At(self.owner(name(first.of(text), scope.origin.as_ref())?)?);
        }
        let (own_ttl, rtype, data) = fields_before_data(text, rest)?;
        self.last_ttl = own_ttl.or(self.last_ttl);
        let owner = match scope.owner {
            LastOwner::At(owner) => Some(owner),
            LastOwner::Faulty => None,
            LastOwner::None => {
                let wanted = "expected a name, or `@` for the zone itself, at the beginning of the line";
                return Err(format!("the first record has no name; {wanted}"));
            }
        };
        if rtype.is_meta() {
            return Err(format!("{rtype} exists only in messages; expected the type of a record"));
        }
        let place = place(scope, line.number);
        if matches!(rtype, Rtype::RRSIG | Rtype::NSEC | Rtype::NSEC3 | Rtype::NSEC3PARAM) {
            self.out.left_out.entry(rtype).or_insert((0, place)).0 += 1;
            return Ok(());
        }
        let rdata = data::read(rtype, text, data, scope.origin.as_ref())?;
        if rtype == Rtype::SOA && self.minimum.is_none() {
            // MINIMUM is the last number of the data (RFC 1035 section 3.3.13); as a TTL it may not exceed one.
            self.minimum = rdata.last_chunk().map(|octets| u32::from_be_bytes(*octets).min(super::fields::MAX_TTL));
        }
        let ttl = own_ttl.or(self.default_ttl).or(self.last_ttl).or(self.minimum);
        if let Some(owner) = owner {
            self.out.records.push(Record { owner, rtype, ttl, place, rdata });
        }
        Ok(())
    }

    fn owner(&mut self, name: Name) -> Result<u32, String> {
        let owners = &mut self.out.owners;
        if owners.last() != Some(&name) {
            owners.push(name);
        }
        u32::try_from(owners.len() - 1).map_err(|_| "a zone file cannot have so many records".to_owned())
    }

    fn directive<'t>(
        &mut self,
        scope: &mut Scope,
        line: Line,
        text: &[u8],
        fields: &[Field],
        depth: usize,
    ) -> Result<Next<'t>, String> {
        let word = fields.first().map_or(&b""[..], |field| field.of(text)).to_ascii_uppercase();
        let arguments: Vec<&[u8]> = fields.iter().skip(1).map(|field| field.of(text)).collect();
        match (&word[..], &arguments[..]) {
            (b"$ORIGIN", [origin]) => {
                let known = scope.origin.as_ref();
                scope.origin = Some(name(origin, known)?);
                Ok(Next::Line)
            }
            (b"$ORIGIN", _) => Err("$ORIGIN is wrong; expected one name, as $ORIGIN example.com.".to_owned()),
            (b"$TTL", [value]) => {
                self.default_ttl = Some(ttl(value)?);
                Ok(Next::Line)
            }
            (b"$TTL", _) => Err("$TTL is wrong; expected one TTL, as $TTL 3600 or $TTL 1h".to_owned()),
            (b"$GENERATE", [range, template @ ..]) if template.len() >= 3 => {
                self.generate(scope, line, range, template)?;
                Ok(Next::Line)
            }
            (b"$GENERATE", _) => {
                Err("$GENERATE is wrong; expected range, name, type and data, as $GENERATE 1-9 host-$ A 192.0.2.$"
                    .to_owned())
            }
            (b"$INCLUDE", [path, origin @ ..]) if origin.len() <= 1 => {
                let origin = match origin.first() {
                    Some(origin) => Some(name(origin, scope.origin.as_ref())?),
                    None => scope.origin.clone(),
                };
                self.open(scope, path, origin, depth).map(Next::Open)
            }
            (b"$INCLUDE", _) => Err("$INCLUDE is wrong; expected a file and perhaps an origin".to_owned()),
            _ => Err(format!(
                "`{}` is not a directive; expected $ORIGIN, $TTL, $INCLUDE or $GENERATE",
                shown(fields.first().map_or(&b""[..], |field| field.of(text)))
            )),
        }
    }

    /// Asks the caller for an included file. Its owners and origin end with it; `$TTL` goes on (RFC 2308 section 4).
    fn open<'t>(
        &mut self,
        scope: &Scope,
        path: &[u8],
        origin: Option<Name>,
        depth: usize,
    ) -> Result<Source<'t>, String> {
        let unquoted = path.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(path);
        let path = std::str::from_utf8(unquoted).map_err(|_| "the file of $INCLUDE is not UTF-8".to_owned())?;
        if depth >= MAX_INCLUDE_DEPTH {
            return Err(format!("$INCLUDE of `{}` is too deep; expected at most {MAX_INCLUDE_DEPTH}", shown(unquoted)));
        }
        if self.out.files.len() > MAX_INCLUDED_FILES {
            return Err(format!("too many files are included; expected at most {MAX_INCLUDED_FILES}"));
        }
        let from = &self.out.files[scope.file as usize];
        let included = self.include.open(path, from)?;
        let file = self.out.files.len() as u32;
        self.out.files.push(included.file);
        let lines = Lines::of(&included.text);
        Ok(Source { text: included.text.into(), lines, scope: Scope { file, origin, owner: LastOwner::None } })
    }

    fn generate(&mut self, scope: &mut Scope, line: Line, range: &[u8], template: &[&[u8]]) -> Result<(), String> {
        let range = Range::parse(range)?;
        self.generated += range.count;
        if self.generated > MAX_GENERATED_IN_ALL {
            let wanted = format!("expected at most {MAX_GENERATED_IN_ALL}");
            return Err(format!("all $GENERATE together make too many records; {wanted}"));
        }
        let mut text = Vec::new();
        let mut fields = Vec::new();
        // The last number is the longest, so this is known before anything is made.
        fill(template, range.last(), &mut text)?;
        self.generated_octets = self.generated_octets.saturating_add(range.count * text.len() as u64);
        if self.generated_octets > MAX_GENERATED_OCTETS {
            let wanted = format!("expected at most {MAX_GENERATED_OCTETS} octets");
            return Err(format!("all $GENERATE together make too much text; {wanted}"));
        }
        for number in range.numbers() {
            fill(template, number, &mut text)?;
            match Lines::of(&text).next(&text, &mut fields) {
                Some(Ok(_)) => {
                    let made = Line { number: line.number, beginning: Beginning::Field };
                    let done = self.record(scope, made, &text, &fields);
                    done.map_err(|error| format!("$GENERATE for {number}: {error}"))?;
                }
                Some(Err(fault)) => return Err(format!("$GENERATE for {number}: {}", fault.text)),
                None => return Err("$GENERATE makes no records".to_owned()),
            }
        }
        Ok(())
    }
}

/// The line that a row has for a number.
fn fill(template: &[&[u8]], number: u32, text: &mut Vec<u8>) -> Result<(), String> {
    text.clear();
    for part in template {
        substitute(part, number, text)?;
        text.push(b' ');
    }
    Ok(())
}

fn place(scope: &Scope, line: usize) -> Place {
    Place { file: scope.file, line: u32::try_from(line).unwrap_or(u32::MAX) }
}

/// TTL and class in either order or left out, then the type; what follows is the data.
fn fields_before_data<'f>(text: &[u8], fields: &'f [Field]) -> Result<(Option<u32>, Rtype, &'f [Field]), String> {
    let mut own_ttl = None;
    let mut own_class = None;
    let mut rest = fields;
    loop {
        let Some((field, behind)) = rest.split_first() else {
            return Err("the record ends before its type; expected name, TTL, class, type and data".to_owned());
        };
        rest = behind;
        let field = field.of(text);
        if own_ttl.is_none() && field[0].is_ascii_digit() && seconds(field).is_some() {
            own_ttl = Some(ttl(field)?);
        } else if let (None, Some(found)) = (own_class, class(field)) {
            match found {
                Class::In => own_class = Some(found),
                Class::Other => return Err(format!("the class {} is not served; expected IN", shown(field))),
            }
        } else {
            return Ok((own_ttl, rtype(field)?, rest));
        }
    }
}
