//! A client of the door: requests with a key, and what comes back.

use serde_json::{Value, json};

use super::service::Service;

/// Path of the server.
pub(crate) const SERVER: &str = "/api/v1/servers/localhost";

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The head in lower case.
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// What the client is told.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }

    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::trim)
    }
}

/// Someone with a key.
pub(crate) struct Client<'a> {
    pub(crate) service: &'a Service,
    pub(crate) key: String,
    /// Id of the token.
    pub(crate) id: String,
}

impl<'a> Client<'a> {
    /// A new key with these fields.
    pub(crate) fn with(service: &'a Service, fields: Value) -> Client<'a> {
        let mut body = json!({"door": "powerdns"});
        for (key, value) in fields.as_object().expect("an object") {
            body[key] = value.clone();
        }
        let (status, token) = service.api("POST", "/v1/tokens", Some(&body.to_string()));
        assert_eq!(status, 201, "{token}");
        let text = |key: &str| token[key].as_str().expect("a text").to_owned();
        Client { service, key: text("token"), id: text("id") }
    }

    /// A key of a profile, named after it.
    pub(crate) fn of(service: &'a Service, profile: &str) -> Client<'a> {
        Client::with(service, json!({"name": profile, "profile": profile}))
    }

    /// A request to a whole path, with a body as it stands here.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        self.send_with(method, path, &[("x-api-key", &self.key)], body)
    }

    pub(crate) fn send_with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let (head, text) = self.service.raw(None, method, path, headers, body.as_bytes());
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        Reply { status, head: head.to_ascii_lowercase(), text }
    }

    /// A request below the server.
    pub(crate) fn call(&self, method: &str, path: &str, body: Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, &format!("{SERVER}/{path}"), &body)
    }

    /// Makes `example.com.`
    pub(crate) fn zone(&self) -> Reply {
        let body = json!({"name": "example.com.", "kind": "Native", "nameservers": ["ns1.example.com."]});
        let reply = self.call("POST", "zones", body);
        assert_eq!(reply.status, 201, "{reply:?}");
        reply
    }

    pub(crate) fn patch(&self, rrsets: Value) -> Reply {
        self.call("PATCH", "zones/example.com.", json!({ "rrsets": rrsets }))
    }

    /// Patches, and expects success.
    pub(crate) fn patched(&self, rrsets: Value) -> Reply {
        let reply = self.patch(rrsets.clone());
        assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{rrsets}: {reply:?}");
        reply
    }

    /// Contents of an RRset as the key sees it; empty if it is not there.
    pub(crate) fn contents(&self, name: &str, rtype: &str) -> Vec<String> {
        let path = format!("zones/example.com.?rrset_name={name}&rrset_type={rtype}");
        let zone = self.call("GET", &path, Value::Null).json();
        let records = zone["rrsets"][0]["records"].as_array().cloned().unwrap_or_default();
        records.iter().map(|record| record["content"].as_str().expect("a content").to_owned()).collect()
    }

    pub(crate) fn serial(&self) -> u64 {
        self.call("GET", "zones/example.com.?rrsets=false", Value::Null).json()["serial"].as_u64().expect("a serial")
    }
}

/// An RRset that is written.
pub(crate) fn replace(name: &str, rtype: &str, contents: &[&str]) -> Value {
    let records: Vec<Value> = contents.iter().map(|one| json!({"content": one, "disabled": false})).collect();
    json!({"name": name, "type": rtype, "ttl": 300, "changetype": "REPLACE", "records": records})
}

/// An RRset that goes.
pub(crate) fn delete(name: &str, rtype: &str) -> Value {
    json!({"name": name, "type": rtype, "changetype": "DELETE"})
}

/// What is served, whoever has it: owner, type and values by name.
pub(crate) fn claims(service: &Service, query: &str) -> Vec<Value> {
    let (status, list) = service.api("GET", &format!("/v1/records?{query}"), None);
    assert_eq!(status, 200, "{list}");
    list["items"].as_array().cloned().expect("items")
}

/// A claim of an owner by the native API.
pub(crate) fn native(service: &Service, owner: &str, record: Value) {
    let path = format!("/v1/owners/{}/records", super::service::part(owner));
    let (status, report) = service.api("PATCH", &path, Some(&json!({"upsert": [record]}).to_string()));
    assert_eq!(status, 200, "{report}");
}
