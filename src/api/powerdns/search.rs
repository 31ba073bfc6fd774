//! `search-data`: zones, records and comments by a pattern, within the view of the key.

use serde_json::{Value, json};

use super::Ask;
use super::answer::{Answer, Failure};
use super::fields::zone_id;
use super::view::{self, Wanted};

/// Hits of each kind, if nothing else is said, and at most.
const USUAL: usize = 100;
const MOST: usize = 10_000;
const KINDS: &str = "object_type must be one of the following options: all, zone, record, comment";

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All,
    Zone,
    Record,
    Comment,
}

pub(super) async fn search(ask: &Ask) -> Result<Answer, Failure> {
    let pattern = ask.parameter("q").unwrap_or_default().to_ascii_lowercase();
    if pattern.is_empty() {
        return Err(Failure::unprocessable("Query q can't be blank"));
    }
    let most = match ask.parameter("max").filter(|text| !text.is_empty()) {
        None => USUAL,
        Some(text) => match text.parse::<usize>() {
            Ok(most) if most > 0 => most.min(MOST),
            Ok(_) | Err(_) => return Err(Failure::unprocessable("Maximum entries must be larger than 0")),
        },
    };
    let kind = match ask.parameter("object_type").unwrap_or("all") {
        "all" => Kind::All,
        "zone" => Kind::Zone,
        "record" => Kind::Record,
        "comment" => Kind::Comment,
        _ => return Err(Failure::unprocessable(KINDS)),
    };
    let mut found = Found { pattern: pattern.as_bytes(), most, ..Found::default() };
    let snapshot = ask.state.handle.published().get();
    let mut apexes: Vec<_> = snapshot.zones().map(|zone| zone.apex().clone()).collect();
    apexes.retain(|apex| ask.key.actor.limits.admits_zone(apex));
    apexes.sort();
    for apex in apexes {
        let id = zone_id(&apex);
        if matches!(kind, Kind::All | Kind::Zone) {
            // Clients leave the final dot out.
            let text = apex.to_string();
            let hit = found.matches(&text) || found.matches(text.trim_end_matches('.'));
            found.zone(hit, json!({"name": text, "object_type": "zone", "zone_id": id}));
        }
        if kind != Kind::Zone
            && found.has_room(kind)
            && let Some(zone) = snapshot.zone(&apex)
        {
            let wanted = Wanted { disabled: true, ..Wanted::default() };
            let rrsets = view::rrsets(ask, zone, &wanted).await?;
            found.rrsets(kind, &apex.to_string(), &id, rrsets);
        }
    }
    Ok(Answer::json(&[found.zones, found.records, found.comments].concat()))
}

#[derive(Default)]
struct Found<'a> {
    pattern: &'a [u8],
    most: usize,
    zones: Vec<Value>,
    records: Vec<Value>,
    comments: Vec<Value>,
}

impl Found<'_> {
    fn matches(&self, text: &str) -> bool {
        matches(self.pattern, text.to_ascii_lowercase().as_bytes())
    }

    fn has_room(&self, kind: Kind) -> bool {
        let records = self.records.len() < self.most;
        let comments = self.comments.len() < self.most;
        match kind {
            Kind::All => records || comments,
            Kind::Zone => false,
            Kind::Record => records,
            Kind::Comment => comments,
        }
    }

    fn zone(&mut self, hit: bool, document: Value) {
        if hit && self.zones.len() < self.most {
            self.zones.push(document);
        }
    }

    fn rrsets(&mut self, kind: Kind, zone: &str, id: &str, rrsets: Vec<view::RrsetDocument>) {
        for rrset in rrsets {
            let by_name = self.matches(&rrset.name) || self.matches(rrset.name.trim_end_matches('.'));
            for record in &rrset.records {
                let hit = by_name || self.matches(&record.content);
                if hit && kind != Kind::Comment && self.records.len() < self.most {
                    self.records.push(json!({
                        "content": record.content, "disabled": record.disabled, "name": rrset.name,
                        "object_type": "record", "ttl": rrset.ttl, "type": rrset.rtype, "zone": zone, "zone_id": id,
                    }));
                }
            }
            for comment in &rrset.comments {
                let hit = by_name || self.matches(&comment.content);
                if hit && kind != Kind::Record && self.comments.len() < self.most {
                    self.comments.push(json!({
                        "content": comment.content, "name": rrset.name, "object_type": "comment",
                        "type": rrset.rtype, "zone": zone, "zone_id": id,
                    }));
                }
            }
        }
    }
}

/// Whether a whole text is of a pattern: `*` stands for any octets, `?` for one. Takes time in proportion to the product
/// of the lengths at most.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last star is, and what it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(octet) if *octet == b'?' || *octet == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match &mut star {
                Some((place, taken)) => {
                    *taken += 1;
                    (at, from) = (*place + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|octet| *octet == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_anchored() {
        for (pattern, text, wanted) in [
            ("www.example.com.", "www.example.com.", true),
            ("www", "www.example.com.", false),
            ("www*", "www.example.com.", true),
            ("*example*", "www.example.com.", true),
            ("www.exampl?.com.", "www.example.com.", true),
            ("*.com", "www.example.com.", false),
            ("**", "", true),
            ("?", "", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), wanted, "{pattern} {text}");
        }
    }
}
