//! The document of the API: what is committed, what is served and what the code makes are one.

use std::path::PathBuf;

use serde_json::Value;
use tenured::api::native;

use super::service::Service;

#[test]
fn the_committed_document_is_the_one_that_the_code_makes() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/api/openapi.json");
    if std::env::var_os("TENURED_WRITE_OPENAPI").is_some() {
        std::fs::write(&path, native::openapi_text()).expect("the document is written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == native::openapi_text(),
        "docs/api/openapi.json is not what the code makes: TENURED_WRITE_OPENAPI=1 cargo test --test api openapi"
    );
}

#[test]
fn the_document_is_served_without_a_token() {
    let service = Service::start();
    let (head, body) = service.raw(None, "GET", "/v1/openapi.json", &[], b"");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
    assert_eq!(body, native::openapi_text());
    let document: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
}

#[test]
fn the_example_of_each_write_is_taken_by_the_server() {
    let service = Service::with_zone();
    let document: Value = serde_json::from_str(native::openapi_text()).expect("JSON");
    assert_eq!(service.api("PUT", "/v1/owners/team-a", None).0, 201);
    assert_eq!(service.api("PUT", "/v1/owners/k8s%3Aprod", Some(r#"{"leaseSeconds":600}"#)).0, 201);
    let mut sent = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let Some(content) = operation["requestBody"]["content"].as_object() else { continue };
            let example = &content.values().next().expect("a media type")["example"];
            let body = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            let mut filled = path.clone();
            for parameter in operation["parameters"].as_array().into_iter().flatten().filter(|one| one["in"] == "path")
            {
                let part = super::service::part(parameter["schema"]["examples"][0].as_str().expect("an example"));
                filled = filled.replace(&format!("{{{}}}", parameter["name"].as_str().expect("a name")), &part);
            }
            let filled =
                if operation["operationId"] == "createZone" { "/v1/zones/new.example.".to_owned() } else { filled };
            let mut parameters = operation["parameters"].as_array().into_iter().flatten();
            if parameters.any(|one| one["name"] == "dryRun") {
                let (status, answer) =
                    service.api(&method.to_uppercase(), &format!("{filled}?dryRun=true"), Some(&body));
                assert!(matches!(status, 200 | 201), "{method} {filled}: {status} {answer}");
                assert!(operation["responses"].get(status.to_string()).is_some(), "{method} {filled}: {status}");
                sent += 1;
                continue;
            }
            // What changes nothing has no dry run; what it is about need not be there, and nobody looks targets up here.
            let (status, answer) = service.api(&method.to_uppercase(), &filled, Some(&body));
            assert!(matches!(status, 200 | 202 | 404 | 503), "{method} {filled}: {status} {answer}");
            assert!(operation["responses"].get(status.to_string()).is_some(), "{method} {filled}: {status}");
            sent += 1;
        }
    }
    assert!(sent >= 10, "{sent}");
}
