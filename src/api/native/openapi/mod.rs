//! `/v1/openapi.json`: the API as an OpenAPI 3.1 document. Paths come from the table of routes, schemas from the types
//! that read and write the bodies, words and bounds from the ledger; only sentences and examples are written here.

mod operations;
mod parameters;
mod schemas;

use std::sync::OnceLock;

use axum::body::Body;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::api::auth::Access;
use crate::api::call::{Call, MAX_REQUEST_ID, Route};
use crate::api::json::BodyLimit;
use crate::api::problem::Refused;
use crate::ledger::code::Code;
use operations::{Operation, Shape};

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::GET, "/v1/openapi.json", Access::Public, show)]
}

async fn show(_: Call) -> Result<Response, Refused> {
    let mut response = Response::new(Body::from(text()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The document as it is served and as `docs/api/openapi.json` has it: indented JSON with a line feed at its end.
pub fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = serde_json::to_string_pretty(&document()).expect("a Value has string keys only");
        text.push('\n');
        text
    })
}

fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in super::routes() {
        // A route that nobody described is left out; a test tells.
        let Some(operation) = operations::of(&route.method, route.path) else { continue };
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = described(&route, operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "tenured",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An authoritative DNS server in which every record has an owner. A 2xx means that a change is \
                durable and served by this node. Owner ids and names in a path are percent-encoded. Unknown keys and \
                parameters are errors.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This server."}],
        "security": [{"token": []}],
        "tags": operations::TAGS.iter().map(|(name, about)| json!({"name": name, "description": about})).collect::<Value>(),
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {
                "type": "http", "scheme": "bearer", "bearerFormat": "tnd_<id>_<secret>",
                "description": "An API token. The first one, of role admin, is in the token file beside the store.",
            }},
            "headers": headers(),
            "schemas": schemas::all(),
        },
    })
}

fn headers() -> Value {
    json!({
        "ETag": {"description": "Strong validator of the body, for If-None-Match.", "schema": {"type": "string"}},
        "X-Request-Id": {
            "description": "Id of the request: the caller's, or a new one. The history and the log name it.",
            "schema": {"type": "string", "minLength": 1, "maxLength": MAX_REQUEST_ID},
        },
        "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
        "WWW-Authenticate": {"description": "The scheme: Bearer.", "schema": {"type": "string"}},
    })
}

fn described(route: &Route, operation: &Operation) -> Value {
    let mut out = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": about_access(route.access),
    });
    if route.access == Access::Public {
        out["security"] = json!([]);
    }
    let parameters = parameters::of(route, operation);
    if !parameters.is_empty() {
        out["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = &operation.body {
        let mut media = json!({"schema": schemas::reference(body.schema)});
        if body.media != "application/json" {
            media = json!({"schema": {"type": "string"}});
        }
        media["example"] = body.example();
        out["requestBody"] = json!({
            "required": body.required,
            "description": format!("At most {} octets.", route.body.octets()),
            "content": {body.media: media},
        });
    }
    out["responses"] = responses(route, operation);
    out
}

fn about_access(access: Access) -> &'static str {
    match access {
        Access::Public => "Needs no token.",
        Access::Read => "Needs a token of any role.",
        Access::Write => {
            "Needs a token of role `admin`, or of role `owner` for what its owner and those below that may write."
        }
        Access::Admin => "Needs a token of role `admin`.",
    }
}

/// The codes that a route can refuse with, in the order of the table of codes.
fn codes(route: &Route, operation: &Operation) -> Vec<Code> {
    let mut codes = vec![Code::BadRequest];
    if route.access != Access::Public {
        codes.extend([Code::Unauthorized, Code::RateLimited, Code::StorageUnavailable]);
    }
    match route.access {
        Access::Public | Access::Read => {}
        Access::Write | Access::Admin => codes.push(Code::Forbidden),
    }
    if route.body != BodyLimit::Nothing {
        codes.push(Code::PayloadTooLarge);
    }
    if route.method == Method::POST {
        codes.push(Code::IdempotencyMismatch);
    }
    codes.extend(operation.codes.iter().copied().flatten());
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn responses(route: &Route, operation: &Operation) -> Value {
    let mut out: Map<String, Value> = Map::new();
    let id = json!({"$ref": "#/components/headers/X-Request-Id"});
    for (status, shape) in operation.success {
        let mut headers = json!({"X-Request-Id": id});
        if *status == 200 && shape.is_json() && operation.id != "getOpenApi" {
            headers["ETag"] = json!({"$ref": "#/components/headers/ETag"});
        }
        let entry = json!({"description": shape.description(*status), "headers": headers, "content": shape.content()});
        out.insert(status.to_string(), entry);
    }
    if route.method == Method::GET && out.get("200").is_some_and(|ok| ok["headers"]["ETag"].is_object()) {
        let headers = json!({"X-Request-Id": id, "ETag": {"$ref": "#/components/headers/ETag"}});
        out.insert("304".to_owned(), json!({"description": "As the caller has it.", "headers": headers}));
    }
    let codes = codes(route, operation);
    let mut statuses: Vec<u16> = codes.iter().map(|code| code.http_status()).chain([500, 504]).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let words: Vec<&str> =
            codes.iter().filter(|code| code.http_status() == status).map(|code| code.text()).collect();
        let words = match status {
            500 => vec!["internal"],
            504 => vec!["timed_out"],
            _ => words,
        };
        let mut headers = json!({"X-Request-Id": id});
        match status {
            401 => headers["WWW-Authenticate"] = json!({"$ref": "#/components/headers/WWW-Authenticate"}),
            429 | 503 => headers["Retry-After"] = json!({"$ref": "#/components/headers/Retry-After"}),
            _ => {}
        }
        let described = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let problem = json!({"allOf": [schemas::reference("Problem")], "properties": {"code": {"enum": words}}});
        let schema = json!({"application/problem+json": {"schema": problem}});
        match out.get_mut(&status.to_string()) {
            // A route that is not ready says 503 in its own form, too.
            Some(known) => known["content"]["application/problem+json"] = schema["application/problem+json"].clone(),
            None => {
                let entry = json!({"description": described, "headers": headers, "content": schema});
                out.insert(status.to_string(), entry);
            }
        }
    }
    Value::Object(out)
}

impl Shape {
    fn is_json(self) -> bool {
        match self {
            Shape::Json(_) | Shape::Either(_, _) | Shape::Changes => true,
            Shape::Text(_) => false,
        }
    }

    fn description(self, status: u16) -> &'static str {
        match (self, status) {
            (_, 201) => "It was made.",
            (_, 202) => "It will be done.",
            (_, 207) => "Some items were refused, the rest is in effect.",
            (_, 503) => "Not now.",
            (Shape::Either(_, _), _) => "All of it is in effect; of a dry run, what would be.",
            (Shape::Json(_) | Shape::Text(_) | Shape::Changes, _) => "Done.",
        }
    }

    fn content(self) -> Value {
        match self {
            Shape::Json("") => json!({"application/json": {"schema": {"type": "object"}}}),
            Shape::Json(name) => json!({"application/json": {"schema": schemas::reference(name)}}),
            Shape::Either(one, other) => {
                let any = [schemas::reference(one), schemas::reference(other)];
                json!({"application/json": {"schema": {"anyOf": any}}})
            }
            Shape::Text(media) => json!({media: {"schema": {"type": "string"}}}),
            Shape::Changes => json!({
                "application/json": {"schema": schemas::reference("Page_Change")},
                "application/x-ndjson": {"schema": {
                    "type": "string", "description": "A change a line, as in the items of a page.",
                }},
                "text/event-stream": {"schema": {
                    "type": "string",
                    "description": "Events `change`, each with a change as its data and revision.item as its id; it goes on.",
                }},
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn operations_of(document: &Value) -> BTreeSet<(String, String)> {
        let paths = document["paths"].as_object().expect("paths");
        let each = paths.iter().flat_map(|(path, methods)| {
            methods.as_object().expect("methods").keys().map(move |method| (method.to_ascii_uppercase(), path.clone()))
        });
        each.collect()
    }

    #[test]
    fn every_route_is_in_the_document_and_the_reverse() {
        let routes: BTreeSet<(String, String)> =
            super::super::routes().iter().map(|route| (route.method.to_string(), route.path.to_owned())).collect();
        let described: BTreeSet<(String, String)> =
            operations::ALL.iter().map(|one| (one.method.to_owned(), one.path.to_owned())).collect();
        assert_eq!(routes, described);
        assert_eq!(routes, operations_of(&document()));
        let ids: BTreeSet<&str> = operations::ALL.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), operations::ALL.len(), "each operation has an id of its own");
    }

    #[test]
    fn every_parameter_of_a_route_is_described() {
        for route in super::super::routes() {
            let operation = operations::of(&route.method, route.path).expect("described");
            assert_eq!(operation.body.is_some(), route.body != BodyLimit::Nothing, "{} {}", route.method, route.path);
            let shown = described(&route, operation);
            for name in route.parameters {
                let all = shown["parameters"].as_array().expect("parameters");
                let one = all.iter().find(|one| one["name"] == **name).expect("it is there");
                assert!(one["description"].as_str().is_some_and(|text| !text.is_empty()), "{} {name}", route.path);
            }
        }
    }

    #[test]
    fn every_documented_status_is_one_of_the_codes_or_of_the_way_of_a_request() {
        let of_codes: BTreeSet<u16> = Code::ALL.iter().map(|code| code.http_status()).collect();
        let document = document();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                for (status, response) in operation["responses"].as_object().expect("responses") {
                    let status: u16 = status.parse().expect("a status");
                    let success = [200, 201, 202, 207, 304].contains(&status);
                    let of_the_way = [500, 504].contains(&status);
                    assert!(success || of_the_way || of_codes.contains(&status), "{method} {path} {status}");
                    if success || of_the_way {
                        continue;
                    }
                    let words =
                        &response["content"]["application/problem+json"]["schema"]["properties"]["code"]["enum"];
                    for word in words.as_array().into_iter().flatten() {
                        let code = Code::ALL.iter().find(|code| *word == code.text()).expect("a code");
                        assert_eq!(code.http_status(), status, "{method} {path}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_reference_leads_to_a_schema_and_every_schema_is_used() {
        fn references(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(map) => {
                    if let Some(Value::String(to)) = map.get("$ref") {
                        found.insert(to.clone());
                    }
                    map.values().for_each(|one| references(one, found));
                }
                Value::Array(all) => all.iter().for_each(|one| references(one, found)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let document = document();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for one in &found {
            let pointer = one.strip_prefix('#').expect("a place in the document");
            assert!(document.pointer(pointer).is_some(), "{one} leads nowhere");
        }
        for name in document["components"]["schemas"].as_object().expect("schemas").keys() {
            assert!(found.contains(&format!("#/components/schemas/{name}")), "{name} is used nowhere");
        }
    }

    #[test]
    fn examples_of_bodies_are_read_by_the_types_that_read_requests() {
        let mut read = 0;
        for operation in operations::ALL {
            if let Some(body) = &operation.body {
                let verdict = (body.reads)(body.text);
                assert!(verdict.is_ok(), "{} {}: {verdict:?}", operation.method, operation.path);
                read += 1;
            }
        }
        assert!(read >= 9);
    }
}
