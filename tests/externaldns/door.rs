//! A client's side of the door: its token, its URL, and the four calls.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::server::{Server, part, run};

/// A client of one URL.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) http: SocketAddr,
    pub(crate) token: String,
    /// The path below which the calls are.
    pub(crate) base: String,
    pub(crate) owner: String,
}

/// An answer: status, body as JSON or null.
pub(crate) type Answer = (u16, Value);

impl Door {
    /// Makes a token for `externaldns:<name>` and gives the client of its URL.
    pub(crate) fn open(server: &Server, name: &str, terms: Value) -> Door {
        let mut body = json!({"name": name, "door": "externaldns"});
        for (key, value) in terms.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        let (status, token) = server.api("POST", "/v1/tokens", Some(body));
        assert_eq!(status, 201, "{token}");
        Door {
            http: server.http,
            token: token["token"].as_str().expect("a token").to_owned(),
            base: format!("/externaldns/{name}"),
            owner: token["owner"].as_str().expect("an owner").to_owned(),
        }
    }

    /// The same by the plan-only URL.
    pub(crate) fn plan_only(&self) -> Door {
        Door { base: format!("{}/plan", self.base), ..self.clone() }
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.send(method, path, body.map(|body| body.to_string()), None).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A call, or why there was no answer.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        instance: Option<&str>,
    ) -> Result<Answer, String> {
        let url = format!("http://{}{}{path}", self.http, self.base);
        let (token, instance) = (self.token.clone(), instance.map(str::to_owned));
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        run(async move {
            let mut request = reqwest::Client::new().request(method, url).basic_auth("any", Some(token));
            if let Some(instance) = instance {
                request = request.header("x-tenured-instance", instance);
            }
            if let Some(body) = body {
                request = request.header("content-type", super::vectors::MEDIA_TYPE).body(body);
            }
            let response = request.send().await.map_err(|error| format!("{error:?}"))?;
            let status = response.status().as_u16();
            let text = response.text().await.map_err(|error| format!("{error:?}"))?;
            Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
        })
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        let (status, body) = self.call("GET", "/records", None);
        assert_eq!(status, 200, "{body}");
        body.as_array().expect("a list").clone()
    }

    pub(crate) fn adjust(&self, desired: Value) -> Vec<Value> {
        let (status, body) = self.call("POST", "/adjustendpoints", Some(desired));
        assert_eq!(status, 200, "{body}");
        body.as_array().expect("a list").clone()
    }

    pub(crate) fn change(&self, changes: Value) -> Answer {
        self.call("POST", "/records", Some(changes))
    }

    /// Status, and the codes of what was refused by name and type.
    pub(crate) fn change_codes(&self, changes: Value) -> (u16, Vec<String>) {
        let (status, body) = self.change(changes);
        let results = body["results"].as_array().cloned().unwrap_or_default();
        let shown = results.iter().map(|item| {
            let word = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", word("name"), word("type"), word("outcome"), word("code"))
        });
        (status, shown.collect())
    }

    /// `/v1/owners/{owner}/externaldns`.
    pub(crate) fn status(&self, server: &Server) -> Value {
        let (status, body) = server.api("GET", &format!("/v1/owners/{}/externaldns", part(&self.owner)), None);
        assert_eq!(status, 200, "{body}");
        body
    }
}

/// An endpoint of a resource.
pub(crate) fn endpoint(name: &str, rtype: &str, targets: &[&str]) -> Value {
    json!({"dnsName": name, "recordType": rtype, "targets": targets, "labels": {"resource": format!("ingress/shop/{name}")}})
}

/// With the client's owner id, as creates of the txt registry have it.
pub(crate) fn owned(mut endpoint: Value, owner: &str) -> Value {
    endpoint["labels"]["owner"] = json!(owner);
    endpoint
}

/// With a property.
pub(crate) fn with(mut endpoint: Value, name: &str, value: &str) -> Value {
    let properties = endpoint.as_object_mut().expect("an object").entry("providerSpecific").or_insert(json!([]));
    properties.as_array_mut().expect("a list").push(json!({"name": name, "value": value}));
    endpoint
}

pub(crate) fn make_zone(server: &Server, zone: &str) {
    let (status, body) = server.api("PUT", &format!("/v1/zones/{}", part(zone)), Some(json!({})));
    assert_eq!(status, 201, "{body}");
}

/// The serial that is served.
pub(crate) fn serial(server: &Server, zone: &str) -> String {
    let soa = server.ask(zone, "SOA");
    soa.data().first().expect("an SOA").split(' ').nth(2).expect("a serial").to_owned()
}

pub(crate) fn revision(server: &Server) -> u64 {
    server.api("GET", "/v1/conflicts", None).1["revision"].as_u64().expect("a revision")
}

/// Lets an owner of the native API write records.
pub(crate) fn apply(server: &Server, owner: &str, records: Value) -> Answer {
    server.api("PUT", &format!("/v1/owners/{}/records", part(owner)), Some(json!({"records": records})))
}
