//! Loops that nobody sees in a list of records.

use serde_json::json;

use super::service::Service;

#[test]
fn a_loop_that_deletes_and_recreates_every_ten_minutes_is_reported_within_three_turns() {
    let service = Service::with_zone();
    let maker = service.make_token("owner", Some("team-a"));
    let sweeper = service.make_token("owner", Some("team-a"));
    let path = "/v1/owners/team-a/records/www.example.com/A";
    let make = || {
        let body = Some(r#"{"values":["192.0.2.1"]}"#);
        assert_eq!(service.api_as(Some(&maker), "PUT", path, body).0, 200);
    };
    make();
    for turn in 1..=3 {
        assert_eq!(service.api("GET", "/v1/flaps", None).1["items"], json!([]), "before turn {turn}");
        service.clock.advance(600_000);
        assert_eq!(service.api_as(Some(&sweeper), "DELETE", path, None).0, 200);
        make();
    }
    let (status, list) = service.api("GET", "/v1/flaps", None);
    assert_eq!(status, 200, "{list}");
    let flap = &list["items"][0];
    assert_eq!((&flap["name"], &flap["type"]), (&json!("www.example.com."), &json!("A")), "{list}");
    assert_eq!((&flap["pattern"], &flap["count"]), (&json!("contested"), &json!(3)));
    assert_eq!((&flap["periodSeconds"], &flap["field"]), (&json!(600), &json!("presence")));
    let tokens: Vec<&str> =
        flap["actors"].as_array().expect("actors").iter().map(|one| one["token"].as_str().expect("an id")).collect();
    let id = |token: &str| token.split('_').nth(1).expect("an id").to_owned();
    assert_eq!(tokens, [id(&maker), id(&sweeper)]);
    let (_, told) = service.api("GET", "/v1/explain?name=www.example.com", None);
    assert_eq!(told["flapping"], *flap);
    assert!(told["verdict"].as_str().expect("a verdict").contains("it flaps every 600 s"), "{told}");
    assert_eq!(service.api("GET", "/v1/flaps?zone=example.net", None).1["items"], json!([]));
}
