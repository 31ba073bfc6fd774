//! Values of JSON as lenient as PowerDNS and its clients are with them, names and zone ids, with PowerDNS's sentences for
//! what is not as it should be.

use serde_json::{Map, Value};

use super::answer::{Failure, shown};
use crate::wire::name::Name;

/// An object of a request.
pub(super) type Object = Map<String, Value>;

/// The object that a body is.
pub(super) fn object(body: &[u8]) -> Result<Object, Failure> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) | Err(_) => Err(Failure::bad_request()),
    }
}

/// A text that has to be there.
pub(super) fn text<'a>(object: &'a Object, key: &str) -> Result<&'a str, String> {
    match object.get(key) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("Key '{key}' not present or not a String")),
    }
}

/// A text that may be absent or null.
pub(super) fn text_or(object: &Object, key: &str, usual: &str) -> Result<String, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(usual.to_owned()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("Key '{key}' not present or not a String")),
    }
}

/// Yes or no, absent or null for the usual.
pub(super) fn flag(object: &Object, key: &str, usual: bool) -> Result<bool, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(usual),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("Key '{key}' not present or not a Bool")),
    }
}

/// A whole number, which may be written as a text.
pub(super) fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A list; absent and null are none.
pub(super) fn list<'a>(object: &'a Object, key: &str) -> Result<Option<&'a Vec<Value>>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(_) => Err(format!("Key '{key}' is not an Array")),
    }
}

/// An owner name of a body.
pub(super) fn name(text: &str) -> Result<Name, String> {
    let plain = text.strip_prefix("*.").unwrap_or(text);
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'/' | b'.');
    if text != "*" && !plain.bytes().all(is_plain) {
        // As PowerDNS prints names: with escapes.
        let printed = Name::parse(text).map_or_else(|_| text.to_owned(), |name| name.to_string());
        return Err(format!("Name '{}' contains unsupported characters", shown(&printed)));
    }
    canonical(text)
}

/// A name that ends with its dot.
pub(super) fn canonical(text: &str) -> Result<Name, String> {
    if !text.ends_with('.') {
        return Err(format!("DNS Name '{}' is not canonical", shown(text)));
    }
    Name::parse(text).map_err(|_| format!("Unable to parse DNS Name '{}'", shown(text)))
}

/// The id of a zone: its name, each octet that is not plain as `=` and two digits.
pub(super) fn zone_id(apex: &Name) -> String {
    if apex.is_root() {
        return "=2E".to_owned();
    }
    let text = apex.to_string();
    let mut id = String::with_capacity(text.len());
    for octet in text.bytes() {
        if octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.') {
            id.push(char::from(octet));
        } else {
            id.push_str(&format!("={octet:02X}"));
        }
    }
    id
}

/// The zone of an id, in any of the forms in which clients write it.
pub(super) fn zone_of_id(id: &str) -> Option<Name> {
    let mut octets = Vec::with_capacity(id.len());
    let mut rest = id.as_bytes();
    while let Some((&octet, behind)) = rest.split_first() {
        rest = behind;
        let digits = || behind.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (octet, digits().and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'=', Some(decoded)) => {
                octets.push(decoded);
                rest = &behind[2..];
            }
            _ => octets.push(octet),
        }
    }
    let text = String::from_utf8(octets).ok()?;
    if text.is_empty() { None } else { Name::parse(&text).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_ids_read_back_to_their_zones() {
        for (zone, id) in [
            ("example.com.", "example.com."),
            (".", "=2E"),
            ("0/26.2.0.192.in-addr.arpa.", "0=2F26.2.0.192.in-addr.arpa."),
            ("a_b.example.com.", "a=5Fb.example.com."),
        ] {
            let name = Name::parse(zone).expect("a name");
            assert_eq!(zone_id(&name), id);
            for spelling in [id, id.trim_end_matches('.'), zone, &id.to_uppercase()] {
                assert_eq!(zone_of_id(spelling), Some(name.clone()), "{spelling}");
            }
        }
        for none in ["", "..", "a..b", &"x".repeat(300)] {
            assert_eq!(zone_of_id(none), None, "{none}");
        }
    }

    #[test]
    fn names_are_checked_in_the_words_of_powerdns() {
        for (text, wanted) in [
            ("www.example.com.", Ok("www.example.com.")),
            ("*.WWW.example.com.", Ok("*.www.example.com.")),
            ("www.example.com", Err("DNS Name 'www.example.com' is not canonical")),
            ("w w.example.com.", Err("Name 'w\\032w.example.com.' contains unsupported characters")),
            ("a.*.example.com.", Err("Name 'a.*.example.com.' contains unsupported characters")),
            ("a..example.com.", Err("Unable to parse DNS Name 'a..example.com.'")),
        ] {
            let given = name(text).map(|name| name.to_string());
            assert_eq!(given.as_deref().map_err(String::as_str), wanted, "{text}");
        }
    }
}
