//! Strict extraction: bodies and parameters that say more than they may, or the same twice, are `bad_request`
//! (ownership.md section 6; reliability.md section 4).

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_path_to_error::{Path, Segment};

pub use super::bodies::BodyLimit;
use super::documents::ErrorDocument;
use super::problem::Refused;
use crate::ledger::code::Code;
use crate::ledger::limits::MAX_LABELS;

/// Deepest JSON.
pub const MAX_DEPTH: usize = 32;
/// A JSON document. An empty body is `{}`, for routes all of whose keys are optional.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    let text = std::str::from_utf8(body).map_err(|error| {
        Refused::bad_request(format!("the body is no UTF-8 after {} octets: JSON is UTF-8", error.valid_up_to()))
    })?;
    check_depth(text.as_bytes())?;
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut reader = serde_json::Deserializer::from_str(text);
    let Object(value) = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let pointer = pointer(error.path());
        not_as_expected(pointer, error.inner())
    })?;
    reader.end().map_err(|error| not_as_expected(String::new(), &error))?;
    Ok(value)
}

/// What is wrong, with the place in the document if it is inside of one.
fn not_as_expected(pointer: String, error: &serde_json::Error) -> Refused {
    let place = if pointer.is_empty() { String::new() } else { format!(" at {pointer}") };
    let detail = in_words(&error.to_string());
    let refused = Refused::bad_request(format!("the body is not as it should be{place}: {detail}"));
    if pointer.is_empty() {
        return refused;
    }
    let code = Code::BadRequest.text().to_owned();
    refused.with_errors(vec![ErrorDocument { pointer: Some(pointer), line: None, code, detail }])
}

/// A sentence of `serde` in the words of JSON: kinds of Rust become kinds of JSON, fields become keys.
fn in_words(text: &str) -> String {
    let text = ["missing", "unknown", "duplicate"]
        .iter()
        .find_map(|word| text.strip_prefix(word)?.strip_prefix(" field").map(|rest| format!("{word} key{rest}")))
        .unwrap_or_else(|| text.to_owned());
    let text = match text.strip_prefix("invalid type: ") {
        Some(rest) => ["sequence", "map"]
            .iter()
            .find_map(|kind| {
                let rest = rest.strip_prefix(kind)?;
                Some(format!("invalid type: {}{rest}", if *kind == "map" { "an object" } else { "an array" }))
            })
            .unwrap_or(text),
        None => text,
    };
    // What was given may hold any text, so only what stands behind the last of these words is of serde.
    let Some((given, expected)) = text.rsplit_once(", expected ") else { return text };
    let (kind, place) = expected.split_once(" at line ").unwrap_or((expected, ""));
    let kind = match kind {
        "u64" => "a whole number from 0 to 18446744073709551615",
        "u32" => "a whole number from 0 to 4294967295",
        "i64" => "a whole number",
        "a string" | "string" => "a text in quotes",
        "a sequence" => "an array",
        "a map" => "an object",
        "a boolean" => "true or false",
        "unit" => "null",
        other if other.starts_with("struct ") || other.starts_with("option") => "an object",
        other => other,
    };
    let place = if place.is_empty() { String::new() } else { format!(" at line {place}") };
    format!("{given}, expected {kind}{place}")
}

/// What is an object and nothing else: the readers that serde derives would take an array of its values, too.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(access)).map(Object)
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Deserializes an object of an object.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// Deserializes an object of an object, or null.
pub fn optional_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|Object(value)| value))
}

/// Deserializes a list of objects of which at most `MOST` and one more are kept: enough to tell that there are too many.
pub fn objects<'de, const MOST: usize, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let kept: Vec<Object<T>> = list::<MOST, D, Object<T>>(deserializer)?;
    Ok(kept.into_iter().map(|Object(value)| value).collect())
}

/// Deserializes a list as [`objects`] does, of anything.
pub fn list<'de, const MOST: usize, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Elements<const MOST: usize, T>(PhantomData<T>);
    impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for Elements<MOST, T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Vec<T>, A::Error> {
            let mut kept = Vec::new();
            while kept.len() <= MOST {
                match access.next_element()? {
                    Some(element) => kept.push(element),
                    None => return Ok(kept),
                }
            }
            while access.next_element::<IgnoredAny>()?.is_some() {}
            Ok(kept)
        }
    }
    deserializer.deserialize_seq(Elements::<MOST, T>(PhantomData))
}

/// A JSON pointer (RFC 6901).
fn pointer(path: &Path) -> String {
    let mut out = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => out.push_str(&format!("/{index}")),
            Segment::Map { key } => out.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    out
}

/// Refuses what is nested deeper than [`MAX_DEPTH`], before anything recurses on it.
fn check_depth(text: &[u8]) -> Result<(), Refused> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for octet in text {
        match (in_string, octet) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => in_string = false,
            (true, _) => {}
            (false, b'"') => in_string = true,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (false, _) => {}
        }
        if depth > MAX_DEPTH {
            return Err(Refused::bad_request(format!("the JSON is nested deeper than {MAX_DEPTH}")));
        }
    }
    Ok(())
}

/// Deserializes a map in which no key stands twice.
pub fn unique_map<'de, D, V>(deserializer: D) -> Result<Option<BTreeMap<String, V>>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Unique<V>(PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = Option<BTreeMap<String, V>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = access.next_entry::<String, V>()? {
                if map.contains_key(&key) {
                    return Err(serde::de::Error::custom(format!("duplicate key `{key}`")));
                }
                // One more than there may be is enough to refuse them.
                if map.len() <= MAX_LABELS {
                    map.insert(key, value);
                }
            }
            Ok(Some(map))
        }
    }
    deserializer.deserialize_map(Unique(PhantomData))
}

/// The parameters behind `?`, decoded, each of which the route knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query string. `allowed` are the names the route knows; of those in `repeated` there may be several.
    pub fn read(query: &str, allowed: &[&str], repeated: &[&str]) -> Result<Parameters, Refused> {
        let mut read: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !allowed.contains(&name.as_str()) {
                let known = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
                return Err(Refused::bad_request(format!(
                    "unknown parameter `{}`: this path knows {known}",
                    name.escape_debug()
                )));
            }
            if read.iter().any(|(other, _)| *other == name) && !repeated.contains(&name.as_str()) {
                return Err(Refused::bad_request(format!("the parameter `{name}` stands twice: give it once")));
            }
            read.push((name, value));
        }
        Ok(Parameters(read))
    }

    /// The value of a parameter; empty counts as absent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.0.iter().filter(move |(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// `true` or `false`; a name alone is true; absent is `default`.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Refused> {
        match self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str()) {
            None => Ok(default),
            Some("true" | "") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => {
                Err(Refused::bad_request(format!("{name} is true or false, not `{}`", other.escape_debug())))
            }
        }
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Refused> {
        self.text(name)
            .map(|value| {
                value.parse().map_err(|_| {
                    Refused::bad_request(format!("{name} is a whole number, not `{}`", value.escape_debug()))
                })
            })
            .transpose()
    }
}

fn decode(text: &str) -> Result<String, Refused> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced)
        .decode_utf8()
        .map(|decoded| decoded.into_owned())
        .map_err(|_| Refused::bad_request("a parameter is no UTF-8 after percent-decoding"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(default)]
        number: Option<u64>,
        #[serde(default, deserialize_with = "unique_map")]
        labels: Option<BTreeMap<String, String>>,
    }

    #[test]
    fn what_is_no_json_or_too_much_json_is_refused() {
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
        let deep = deep.as_bytes();
        for bad in [
            &b"{"[..],
            b"[]x",
            b"\xff",
            b"null",
            br#"{"other":1}"#,
            br#"{"number":1,"number":1}"#,
            br#"{"number":1.0}"#,
            br#"{"number":18446744073709551616}"#,
            br#"{"labels":{"a":"b","a":"b"}}"#,
            b"\xef\xbb\xbf{}",
            deep,
        ] {
            let refused = read::<Sample>(bad).expect_err(&String::from_utf8_lossy(bad));
            assert_eq!(refused.document().code, "bad_request");
        }
        assert_eq!(read::<Sample>(b"").expect("an empty body is {}"), Sample::default());
        let text = br#"{"number":18446744073709551615,"labels":{"a":"[[[[["}}"#;
        assert_eq!(read::<Sample>(text).expect("the largest number").number, Some(u64::MAX));
    }

    #[test]
    fn errors_speak_of_json_and_name_no_type_of_rust() {
        for (body, wanted) in [
            ("[]", "invalid type: an array, expected an object at line 1"),
            ("[1,null]", "invalid type: an array, expected an object at line 1"),
            ("5", "invalid type: integer `5`, expected an object at line 1"),
            (r#"{"number":"x"}"#, "expected a whole number from 0 to 18446744073709551615"),
            (r#"{"number":{}}"#, "invalid type: an object, expected a whole number"),
            (r#"{"labels":[]}"#, "invalid type: an array, expected an object"),
            (r#"{"labels":{"a":1}}"#, "expected a text in quotes"),
            (r#"{"other":1}"#, "unknown key `other`, expected `number` or `labels`"),
            (r#"{"number":1,"number":1}"#, "duplicate key `number`"),
        ] {
            let refused = read::<Sample>(body.as_bytes()).expect_err(body);
            let detail = &refused.document().detail;
            assert!(detail.contains(wanted), "{body}: {detail}");
            for word in ["struct", "field", "sequence", "u64", "Sample"] {
                assert!(!detail.contains(word), "{body}: {detail}");
            }
        }
        let told = in_words("invalid type: string \"x, expected struct Y\", expected u32 at line 1 column 2");
        assert!(told.contains("x, expected struct Y"), "what the caller wrote stays: {told}");
    }

    #[test]
    fn a_list_keeps_one_more_than_there_may_be() {
        #[derive(Debug, Deserialize)]
        struct Lists {
            #[serde(deserialize_with = "list::<2, _, _>")]
            texts: Vec<String>,
        }
        let lists = read::<Lists>(br#"{"texts":["a","b","c","d","e"]}"#).expect("a list");
        assert_eq!(lists.texts, ["a", "b", "c"]);
        assert!(read::<Lists>(br#"{"texts":["a","b","c","d" "e"]}"#).is_err(), "what is not kept is read all the same");
    }

    #[test]
    fn a_wrong_value_is_pointed_at() {
        let refused = read::<Sample>(br#"{"labels":{"a/b":1}}"#).expect_err("a label is a text");
        assert_eq!(refused.document().errors[0].pointer.as_deref(), Some("/labels/a~1b"));
        assert!(refused.document().detail.contains("/labels/a~1b"), "{refused:?}");
    }

    #[test]
    fn depth_is_counted_to_its_limit() {
        let at_limit = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(check_depth(at_limit.as_bytes()).is_ok());
        assert!(check_depth(br#""[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[[[""#).is_ok(), "brackets in strings");
    }

    #[test]
    fn parameters_are_known_once_and_decoded() {
        let read = Parameters::read("owner=k8s%3Aprod%2FGateway&dryRun", &["owner", "dryRun"], &[]).expect("known");
        assert_eq!(read.text("owner"), Some("k8s:prod/Gateway"));
        assert!(read.flag("dryRun", false).expect("a flag"));
        for bad in ["x=1", "owner=a&owner=b", "owner=%ff"] {
            assert!(Parameters::read(bad, &["owner"], &[]).is_err(), "{bad}");
        }
        let twice = Parameters::read("state=a&state=b", &["state"], &["state"]).expect("may repeat");
        assert_eq!(twice.all("state").collect::<Vec<_>>(), ["a", "b"]);
        assert!(Parameters::read("n=x", &["n"], &[]).expect("known").number("n").is_err());
        assert!(Parameters::read("n=x", &["n"], &[]).expect("known").flag("n", true).is_err());
    }
}
