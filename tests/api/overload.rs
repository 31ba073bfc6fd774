//! More than the server takes: bodies over the room there is, and wrong tokens without end.

use std::io::{Read, Write};

use serde_json::{Value, json};
use tenured::api::failures::BURST;

use super::service::Service;

/// A request whose body stays away after its head.
fn head_alone(service: &Service, path: &str, length: usize) -> std::net::TcpStream {
    let mut stream = std::net::TcpStream::connect(service.http).expect("a connection");
    let token = service.token();
    let head = format!(
        "PUT {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("a head that is taken");
    stream
}

fn answer(mut stream: std::net::TcpStream) -> String {
    let mut octets = vec![0; 4096];
    let mut text = String::new();
    while !text.contains("}") {
        let read = stream.read(&mut octets).expect("an answer");
        assert!(read > 0, "the connection ended: {text}");
        text.push_str(&String::from_utf8_lossy(&octets[..read]));
    }
    text
}

#[test]
fn large_bodies_at_once_are_refused_before_they_are_read_and_small_ones_go_on() {
    let service = Service::with_zone();
    let records = "/v1/owners/team-a/records";
    // One is let in, which is told to send its body; of all others each is answered by its head alone.
    let streams: Vec<_> = (0..24).map(|_| head_alone(&service, records, 60 << 20)).collect();
    let mut answers = Vec::new();
    let mut waiting = Vec::new();
    for stream in streams {
        let mut first = [0; 12];
        let mut waiter = stream.try_clone().expect("a socket");
        waiter.read_exact(&mut first).expect("an answer");
        match &first {
            b"HTTP/1.1 100" => waiting.push(stream),
            _ => answers.push(String::from_utf8_lossy(&first).into_owned() + &answer(stream)),
        }
    }
    assert_eq!((answers.len(), waiting.len()), (23, 1));
    for answer in &answers {
        assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("rate_limited"), "{answer}");
        assert!(answer.to_ascii_lowercase().contains("retry-after: 1"), "{answer}");
    }
    let small = r#"{"records":[{"name":"a.example.com","type":"A","values":["192.0.2.1"]}]}"#;
    assert_eq!(service.api("PUT", records, Some(small)).0, 200);
}

#[test]
fn a_client_that_sends_before_it_listens_gets_its_refusal_too() {
    let service = Service::with_zone();
    let first = head_alone(&service, "/v1/owners/team-a/records", 60 << 20);
    let mut told = [0; 12];
    first.try_clone().expect("a socket").read_exact(&mut told).expect("a go-ahead");
    assert_eq!(&told, b"HTTP/1.1 100");
    let token = service.token();
    let body = vec![b' '; 40 << 20];
    let (head, text) = service.raw(Some(&token), "PUT", "/v1/owners/team-b/records", &[], &body);
    assert!(head.starts_with("HTTP/1.1 429") && text.contains("rate_limited"), "{head} {text}");
}

#[test]
fn many_wrong_tokens_are_slowed_down_and_right_ones_never() {
    let service = Service::start();
    let right = service.token();
    let wrong = "tnd_000000000000_00";
    let ask = |token: Option<&str>| {
        let (head, text) = service.raw(token, "GET", "/v1/zones", &[], b"");
        let code = serde_json::from_str::<Value>(&text).unwrap_or_default()["code"].clone();
        (head[9..12].parse::<u16>().expect("a status"), code, head.to_ascii_lowercase())
    };
    for _ in 0..BURST {
        assert_eq!(ask(Some(wrong)).0, 401);
    }
    let (status, code, head) = ask(Some(wrong));
    assert_eq!((status, code), (429, json!("rate_limited")));
    assert!(head.contains("retry-after: 6"), "{head}");
    assert_eq!(ask(Some(&right)).0, 200, "the right token from the same address");
    assert_eq!(ask(None).0, 401, "no token is no guess");
    service.clock.advance(6_000);
    assert_eq!(ask(Some(wrong)).0, 401);
    assert_eq!(ask(Some(wrong)).0, 429);
}

#[test]
fn an_array_of_its_values_is_no_object() {
    let service = Service::with_zone();
    let records = "/v1/owners/team-a/records";
    for (method, path, body) in [
        ("PATCH", records, r#"{"delete":[["a.example.com.","A",null,null]]}"#),
        ("PUT", records, r#"{"records":[["a.example.com.","A",["192.0.2.1"],null,null,null,false,null,null]]}"#),
        ("PUT", records, r#"{"records":[],"source":["a","b","c","d","e"]}"#),
        ("PUT", "/v1/owners/team-a", "[1,1,null,null,null,null,null,null,null,null]"),
        ("POST", "/v1/transfers", r#"{"from":"a","to":"b","match":["example.com.",null,null]}"#),
    ] {
        let (status, problem) = service.api(method, path, Some(body));
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(status == 400 && detail.contains("an array, expected an object"), "{body}: {problem}");
    }
}
