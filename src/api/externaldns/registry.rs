//! Registry TXT records: what a stock client writes beside its records to remember that they are its own. They are known by
//! their label, their text, or, encrypted, by the nonce that the label of a record names.

use std::collections::{HashMap, HashSet};

use super::base64;
use super::wire::Endpoint;
use crate::ledger::external_dns::RegistryText;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Label of a registry record: the name of the record that it is about.
const OWNED_RECORD: &str = "ownedRecord";
/// Label of a record: the nonce with which its registry record is encrypted.
pub(super) const NONCE: &str = "txt-encryption-nonce";
/// Octets of a nonce (AES-256-GCM).
const NONCE_OCTETS: usize = 12;
/// Fewest octets of an encrypted text: the nonce, one octet, and the tag of 16.
const MIN_ENCRYPTED: usize = 29;
/// Types whose lower-case name stands in the name of a registry record, longer ones first.
const TYPES: [&str; 10] = ["cname", "dname", "naptr", "aaaa", "srv", "txt", "ptr", "mx", "ns", "a"];

/// Nonces by which encrypted texts are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Nonces(HashSet<Vec<u8>>);

impl Nonces {
    /// Adds that of a label.
    pub(super) fn add(&mut self, label: &str) {
        if let Some(octets) = base64::decode(label).filter(|octets| octets.len() == NONCE_OCTETS) {
            self.0.insert(octets);
        }
    }

    /// Adds those of endpoints.
    pub(super) fn add_all<'a>(&mut self, endpoints: impl Iterator<Item = &'a Endpoint>) {
        endpoints.filter_map(|one| one.labels.get(NONCE)).for_each(|label| self.add(label));
    }
}

/// What a TXT endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A registry record.
    Registry,
    /// One if the nonce in it is known.
    Encrypted,
    /// Data like any other.
    Data,
}

/// What an endpoint is by itself.
pub(super) fn kind(endpoint: &Endpoint) -> Kind {
    if endpoint.record_type != "TXT" {
        return Kind::Data;
    }
    if endpoint.labels.get(OWNED_RECORD).is_some_and(|name| !name.is_empty()) {
        return Kind::Registry;
    }
    let [target] = endpoint.targets.as_slice() else { return Kind::Data };
    let text = target.trim_matches('"');
    let mut tokens = text.split(',').map(str::trim);
    if tokens.clone().any(|token| token == "heritage=external-dns")
        && tokens.any(|token| token.starts_with("external-dns/"))
    {
        return Kind::Registry;
    }
    match base64::decode(text) {
        Some(octets) if octets.len() >= MIN_ENCRYPTED => Kind::Encrypted,
        Some(_) | None => Kind::Data,
    }
}

/// Whether an encrypted text begins with a nonce that is known.
pub(super) fn is_known(endpoint: &Endpoint, nonces: &Nonces) -> bool {
    let text = endpoint.targets.first().map_or("", String::as_str).trim_matches('"');
    base64::decode(text).is_some_and(|octets| octets.get(..NONCE_OCTETS).is_some_and(|nonce| nonces.0.contains(nonce)))
}

/// Records of a list by name and set id: which types a registry record may be about.
pub(super) struct Types<'a>(HashMap<(&'a str, &'a str), Vec<&'a str>>);

impl<'a> Types<'a> {
    pub(super) fn of(list: &'a [Endpoint]) -> Types<'a> {
        let mut types: HashMap<(&str, &str), Vec<&str>> = HashMap::with_capacity(list.len());
        for one in list.iter().filter(|one| one.record_type != "TXT") {
            let key = (one.dns_name.as_str(), one.set_identifier.as_str());
            types.entry(key).or_default().push(&one.record_type);
        }
        Types(types)
    }
}

/// What is kept of a registry record. Records with the same list tell which of the types at the name it is about.
pub(super) fn text(endpoint: &Endpoint, types: &Types<'_>) -> RegistryText {
    let owned = endpoint.labels.get(OWNED_RECORD).map_or("", String::as_str);
    let rtype = match types.0.get(&(owned, endpoint.set_identifier.as_str())).map(Vec::as_slice) {
        Some([only]) => only.parse().ok(),
        Some(_) | None => type_in(&endpoint.dns_name),
    };
    RegistryText {
        name: endpoint.dns_name.clone(),
        text: endpoint.targets.first().cloned().unwrap_or_default(),
        about: Name::parse(owned).ok().map(|name| (name, rtype)),
    }
}

/// The type that the name of a registry record tells.
fn type_in(name: &str) -> Option<Rtype> {
    let first = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_named = |word: &&&str| first.starts_with(&format!("{word}-")) || first.contains(&format!("-{word}-"));
    TYPES.iter().find(is_named).and_then(|word| word.to_ascii_uppercase().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn txt(name: &str, target: &str) -> Endpoint {
        Endpoint {
            dns_name: name.to_owned(),
            record_type: "TXT".to_owned(),
            targets: vec![target.to_owned()],
            ..Endpoint::default()
        }
    }

    #[test]
    fn registry_records_are_known_by_label_text_or_nonce() {
        let mut labelled = txt("a-www.example.com", "whatever");
        labelled.labels.insert(OWNED_RECORD.to_owned(), "www.example.com".to_owned());
        assert_eq!(kind(&labelled), Kind::Registry);
        let heritage = "\"heritage=external-dns,external-dns/owner=prod,external-dns/resource=ingress/shop/web\"";
        assert_eq!(kind(&txt("x.example.com", heritage)), Kind::Registry);
        // Twelve octets of zero, a tag of zero and one octet more.
        let encrypted = txt("x.example.com", "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"");
        assert_eq!(kind(&encrypted), Kind::Encrypted);
        let mut nonces = Nonces::default();
        assert!(!is_known(&encrypted, &nonces));
        nonces.add("AAAAAAAAAAAAAAAA");
        assert!(is_known(&encrypted, &nonces));
        nonces.add("AAAA");
        for text in
            ["v=spf1 -all", "heritage=external-dns", "external-dns/owner=x", "heritage=other,external-dns/owner=x"]
        {
            assert_eq!(kind(&txt("x.example.com", text)), Kind::Data, "{text}");
        }
        let mut two = txt("x.example.com", heritage);
        two.targets.push("more".to_owned());
        assert_eq!(kind(&two), Kind::Data, "clients write one text");
        let mut other = txt("x.example.com", heritage);
        other.record_type = "SPF".to_owned();
        assert_eq!(kind(&other), Kind::Data);
    }

    #[test]
    fn the_name_tells_the_type() {
        for (name, wanted) in [
            ("aaaa-www.example.com", Some(Rtype::AAAA)),
            ("a-www.example.com", Some(Rtype::A)),
            ("xdns-cname-www.example.com", Some(Rtype::CNAME)),
            ("www.example.com", None),
            ("data-www.example.com", None),
        ] {
            assert_eq!(type_in(name), wanted, "{name}");
        }
    }
}
