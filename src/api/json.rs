//! Strict extraction: bodies and parameters that say more than they may, or the same twice, are `bad_request`
//! (ownership.md section 6; reliability.md section 4).

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_path_to_error::{Path, Segment};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::documents::ErrorDocument;
use super::problem::Refused;
use crate::ledger::code::Code;

/// Deepest JSON.
pub const MAX_DEPTH: usize = 32;
/// Most octets of all bodies together.
pub const MAX_ALL_BODIES: usize = 512 * 1024 * 1024;
/// A body that brings nothing for so long is given up.
pub const MAX_BODY_PAUSE: Duration = Duration::from_secs(10);
/// Unit in which bodies are counted, in octets.
const UNIT: usize = 1024;

/// How large a body may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLimit {
    /// The route reads none.
    Nothing,
    /// 1 MiB.
    Small,
    /// 64 MiB: apply and change.
    Records,
    /// 256 MiB: zone files.
    ZoneFile,
}

impl BodyLimit {
    /// Octets.
    pub fn octets(self) -> usize {
        match self {
            BodyLimit::Nothing => 0,
            BodyLimit::Small => 1024 * 1024,
            BodyLimit::Records => 64 * 1024 * 1024,
            BodyLimit::ZoneFile => 256 * 1024 * 1024,
        }
    }
}

/// Room for the bodies of all requests. Clones share it.
#[derive(Clone, Debug)]
pub struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies(Arc::new(Semaphore::new(MAX_ALL_BODIES / UNIT)))
    }
}

/// A body that was read, with the room it takes until it is dropped.
#[derive(Debug, Default)]
pub struct Held {
    /// The octets.
    pub octets: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    /// Reads a body up to its limit.
    pub async fn read(&self, headers: &HeaderMap, mut body: Body, limit: BodyLimit) -> Result<Held, Refused> {
        if limit == BodyLimit::Nothing {
            return Ok(Held::default());
        }
        let too_large = || {
            let detail = format!("the body is over {} octets, the most for this path: split it", limit.octets());
            Refused::new(Code::PayloadTooLarge, detail)
        };
        let told = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if told.is_some_and(|length| length > limit.octets() as u64) {
            return Err(too_large());
        }
        let mut octets = Vec::new();
        let mut room: Option<OwnedSemaphorePermit> = None;
        loop {
            let frame =
                tokio::time::timeout(MAX_BODY_PAUSE, poll_fn(|context| Pin::new(&mut body).poll_frame(context)));
            let frame = frame.await.map_err(|_| Refused::bad_request("the body stopped coming: send it again"))?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|_| Refused::bad_request("the body broke off: send it again"))?;
            let Ok(data) = frame.into_data() else { continue };
            if octets.len() + data.len() > limit.octets() {
                return Err(too_large());
            }
            octets.extend_from_slice(&data);
            let held = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let missing = octets.len().div_ceil(UNIT).saturating_sub(held);
            if missing > 0 {
                let missing = u32::try_from(missing).unwrap_or(u32::MAX);
                let more = Arc::clone(&self.0).try_acquire_many_owned(missing).map_err(|_| {
                    Refused::new(Code::StorageUnavailable, "too many large requests at once: try again in a moment")
                })?;
                match &mut room {
                    Some(room) => room.merge(more),
                    None => room = Some(more),
                }
            }
        }
        Ok(Held { octets: octets.into(), _room: room })
    }
}

/// A JSON document. An empty body is `{}`, for routes all of whose keys are optional.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    let text = std::str::from_utf8(body).map_err(|error| {
        Refused::bad_request(format!("the body is no UTF-8 after {} octets: JSON is UTF-8", error.valid_up_to()))
    })?;
    check_depth(text.as_bytes())?;
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let pointer = pointer(error.path());
        not_as_expected(pointer, error.inner())
    })?;
    reader.end().map_err(|error| not_as_expected(String::new(), &error))?;
    Ok(value)
}

/// `serde`'s words, with the place in the document if it is inside of one.
fn not_as_expected(pointer: String, error: &serde_json::Error) -> Refused {
    let place = if pointer.is_empty() { String::new() } else { format!(" at {pointer}") };
    let refused = Refused::bad_request(format!("the body is not as it should be{place}: {error}"));
    if pointer.is_empty() {
        return refused;
    }
    let code = Code::BadRequest.text().to_owned();
    refused.with_errors(vec![ErrorDocument { pointer: Some(pointer), line: None, code, detail: error.to_string() }])
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
    V: serde::Deserialize<'de>,
{
    struct Unique<V>(std::marker::PhantomData<V>);
    impl<'de, V: serde::Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = Option<BTreeMap<String, V>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = access.next_entry::<String, V>()? {
                if map.insert(key.clone(), value).is_some() {
                    return Err(serde::de::Error::custom(format!("duplicate field `{key}`")));
                }
            }
            Ok(Some(map))
        }
    }
    deserializer.deserialize_map(Unique(std::marker::PhantomData))
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
