//! The data of a record between text and octets: what is read is served, printed, and read back as it was.

use tenured::wire::codes::Rtype;
use tenured::wire::name::{Name, wire_length};
use tenured::wire::presentation::{MAX_TEXT, checked, generic_text, rdata_from_text, rdata_to_text};
use tenured::wire::rdata::{Part, canonical, is_well_formed, shape_of};

/// The types that have a text form of their own, and some that have not.
pub const TYPES: [u16; 48] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 24, 25, 26, 28, 29, 33, 35, 36, 37, 39, 42, 43, 44, 45,
    46, 47, 48, 50, 51, 52, 53, 55, 59, 60, 61, 62, 63, 64, 65, 257, 65_401,
];

/// How a seed has the data.
pub enum Form {
    Text,
    Octets,
}

/// The input of [`run`] for the data of a type.
pub fn seed(rtype: Rtype, form: Form, data: &[u8]) -> Vec<u8> {
    let mut input = match TYPES.iter().position(|number| *number == rtype.0) {
        Some(at) => vec![at as u8],
        None => [&[u8::MAX][..], &rtype.0.to_be_bytes()].concat(),
    };
    input.push(match form {
        Form::Text => 0,
        Form::Octets => 1,
    });
    input.extend_from_slice(data);
    input
}

/// The first octet chooses the type (from [`TYPES`], else the next two octets are its number); the lowest bit of the next
/// says whether the rest is text or octets.
pub fn run(input: &[u8]) {
    let Some((&choice, rest)) = input.split_first() else { return };
    let (rtype, rest) = match (TYPES.get(usize::from(choice)), rest) {
        (Some(&number), rest) => (Rtype(number), rest),
        (None, [high, low, rest @ ..]) => (Rtype(u16::from_be_bytes([*high, *low])), rest),
        (None, _) => return,
    };
    match rest {
        [form, octets @ ..] if form & 1 == 1 => of_octets(rtype, octets),
        [_, text @ ..] => of_text(rtype, &String::from_utf8_lossy(text)),
        [] => {}
    }
}

fn of_text(rtype: Rtype, text: &str) {
    // The origin for relative names; without one they are an error, and all else is as it was.
    let origin = Name::parse("example.com").expect("a name");
    let relative = rdata_from_text(rtype, text, Some(&origin));
    let absolute = rdata_from_text(rtype, text, None);
    match (&relative, &absolute) {
        (Ok(one), Ok(other)) => assert!(one == other || text.contains('@'), "the origin changes an absolute name"),
        (Err(_), Ok(_)) => panic!("the origin makes an error"),
        (Ok(_) | Err(_), Err(error)) => assert!(!error.is_empty()),
    }
    if let Ok(rdata) = relative {
        assert!(text.len() <= MAX_TEXT);
        assert_eq!(checked(rtype, rdata.clone()), Ok(rdata.clone()), "read, and then not taken");
        of_octets(rtype, &rdata);
    }
}

fn of_octets(rtype: Rtype, octets: &[u8]) {
    // Printing never fails, whatever the octets are.
    let printed = rdata_to_text(rtype, octets);
    assert!(printed.bytes().all(|octet| (0x20..0x7f).contains(&octet)), "{printed:?} is not all visible");
    shape_is_sound(rtype, octets);
    let generic = rdata_from_text(rtype, &generic_text(octets), None);
    match checked(rtype, octets.to_vec()) {
        Ok(rdata) => {
            assert_eq!(generic.as_deref(), Ok(&rdata[..]), "the form of RFC 3597");
            let again = rdata_from_text(rtype, &printed, None);
            assert_eq!(again.as_deref(), Ok(&rdata[..]), "{rtype} {printed}");
        }
        // The library drops nothing that was refused into other data.
        Err(_) => assert!(generic.is_err() || generic.as_deref() == Ok(octets), "{rtype} {generic:?}"),
    }
}

fn shape_is_sound(rtype: Rtype, octets: &[u8]) {
    let form = canonical(rtype, octets);
    assert_eq!(canonical(rtype, &form), form, "canonical twice");
    if is_well_formed(rtype, octets) {
        let parts = shape_of(rtype).parts(octets);
        let joined: Vec<u8> = parts
            .flat_map(|part| match part {
                Part::Octets(octets) => octets,
                Part::Name(name) => {
                    assert_eq!(wire_length(name), Some(name.len()));
                    name
                }
            })
            .copied()
            .collect();
        assert_eq!(joined, octets, "parts give back every octet");
        assert_eq!(form.len(), octets.len());
    }
}
