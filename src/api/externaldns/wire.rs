//! The documents of the protocol: endpoints, changes and the filter, with the key spellings of external-dns.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Most endpoints of a call.
pub const MAX_ENDPOINTS: usize = 200_000;

/// A record set of the client. Keys may be absent or null; unknown ones are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Endpoint {
    /// The name.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub(super) dns_name: String,
    /// Values.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub(super) targets: Vec<String>,
    /// The type.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub(super) record_type: String,
    /// Tells endpoints of one name and type apart.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub(super) set_identifier: String,
    /// Seconds; 0 is absent.
    #[serde(rename = "recordTTL", deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub(super) record_ttl: i64,
    /// Labels.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
    /// Properties, the first of each name.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub(super) provider_specific: Vec<Property>,
}

/// A property of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Property {
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub(super) name: String,
    /// Its value.
    #[serde(deserialize_with = "nullable")]
    pub(super) value: String,
}

impl Endpoint {
    /// The first value of a property.
    pub(super) fn property(&self, name: &str) -> Option<&str> {
        self.provider_specific.iter().find(|one| one.name == name).map(|one| one.value.as_str())
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Changes: the keys in any case, as both spellings that clients have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) create: Vec<Endpoint>,
    pub(super) update_old: Vec<Endpoint>,
    pub(super) update_new: Vec<Endpoint>,
    pub(super) delete: Vec<Endpoint>,
}

impl Changes {
    /// How many endpoints there are.
    pub(super) fn len(&self) -> usize {
        self.create.len() + self.update_old.len() + self.update_new.len() + self.delete.len()
    }
}

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Changes, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Changes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of changes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Changes, A::Error> {
                let mut changes = Changes::default();
                while let Some(key) = access.next_key::<String>()? {
                    let list = match key.to_ascii_lowercase().as_str() {
                        "create" => &mut changes.create,
                        "updateold" => &mut changes.update_old,
                        "updatenew" => &mut changes.update_new,
                        "delete" => &mut changes.delete,
                        _ => {
                            access.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    let Listed(found) = access.next_value()?;
                    list.extend(found);
                }
                Ok(changes)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// A list of endpoints, or null; null in it is nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed(pub(super) Vec<Endpoint>);

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Listed, D::Error> {
        let found = Option::<Vec<Option<Endpoint>>>::deserialize(deserializer)?.unwrap_or_default();
        Ok(Listed(found.into_iter().flatten().collect()))
    }
}

/// The answer to `GET /`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Filter {
    /// Suffixes of names that the client may ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) include: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Changes {
        serde_json::from_str(text).expect(text)
    }

    #[test]
    fn both_spellings_of_changes_and_null_everywhere_are_read() {
        let one = r#"[{"dnsName":"a.example.com","targets":["192.0.2.1"],"recordType":"A"}]"#;
        let lower = changes(&format!(r#"{{"create":{one},"updateOld":{one},"updateNew":{one},"delete":{one}}}"#));
        let upper = changes(&format!(r#"{{"Create":{one},"UpdateOld":{one},"UpdateNew":{one},"Delete":{one}}}"#));
        assert_eq!((&lower, lower.len()), (&upper, 4));
        let empty = changes(r#"{"create":null,"UpdateOld":null,"delete":null,"else":{"a":[1]}}"#);
        assert_eq!(empty, Changes::default());
        let nulls = r#"[null,{"dnsName":null,"targets":null,"recordType":null,"setIdentifier":null,"recordTTL":null,
            "labels":null,"providerSpecific":null,"other":[{}]},{"providerSpecific":[{"name":"alias","value":null}]}]"#;
        let Listed(found) = serde_json::from_str(nulls).expect("endpoints");
        assert_eq!(found[0], Endpoint::default());
        assert_eq!(found[1].property("alias"), Some(""));
        let Listed(none) = serde_json::from_str("null").expect("null");
        assert!(none.is_empty());
    }

    #[test]
    fn empty_keys_are_left_out() {
        let endpoint = Endpoint { dns_name: "a.example.com".to_owned(), ..Endpoint::default() };
        assert_eq!(serde_json::to_string(&endpoint).expect("JSON"), r#"{"dnsName":"a.example.com"}"#);
        assert_eq!(serde_json::to_string(&Filter::default()).expect("JSON"), "{}");
    }
}
