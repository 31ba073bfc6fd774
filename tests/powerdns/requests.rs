//! Golden requests: what controllers send, octet for octet, that cannot run here, and what they look at in the answer.

use serde_json::{Value, json};

use super::door::{Client, SERVER, native};
use super::service::Service;

const ZONE: &str = "/api/v1/servers/localhost/zones/example.com.";

fn patch(client: &Client<'_>, body: &str) -> (u16, String) {
    let reply = client.send("PATCH", ZONE, body);
    (reply.status, reply.error())
}

/// dns-operator: five calls, one RRset each, no `Accept`.
#[test]
fn dns_operator() {
    let service = Service::start();
    let client = Client::of(&service, "dns-operator");
    assert_eq!(client.send("GET", ZONE, "").status, 404);
    let body = r#"{"name":"example.com.","kind":"Native","nameservers":["ns1.example.net.","ns2.example.net."],"soa_edit_api":"DEFAULT"}"#;
    let made = client.send("POST", &format!("{SERVER}/zones"), body);
    assert_eq!((made.status, made.json()["name"].as_str()), (201, Some("example.com.")));
    assert_eq!(client.send("POST", &format!("{SERVER}/zones"), body).status, 409, "taken as success");
    for (rtype, content, shown) in [
        ("A", "192.0.2.1", "192.0.2.1"),
        ("AAAA", "2001:0db8::1", "2001:db8::1"),
        ("TXT", "v=spf1 -all", "\"v=spf1 -all\""),
        ("MX", "10 mail.example.com.", "10 mail.example.com."),
        ("SRV", "1 2 443 host.example.com.", "1 2 443 host.example.com."),
        ("CAA", r#"0 issue \"ca.example.net\\; policy=ev\""#, "0 issue \"ca.example.net; policy=ev\""),
        ("PTR", "host.example.com.", "host.example.com."),
        (
            "TLSA",
            "3 1 1 ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789",
            "3 1 1 abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
        ),
        (
            "HTTPS",
            r#"1 . ech=\"AAAA\" ipv4hint=192.0.2.1 alpn=\"h2,h3\""#,
            "1 . alpn=h2,h3 ipv4hint=192.0.2.1 ech=AAAA",
        ),
        ("SVCB", "1 svc.example.com. port=8443", "1 svc.example.com. port=8443"),
        ("NS", "ns1.example.net.", "ns1.example.net."),
        ("CNAME", "edge.example.net.", "edge.example.net."),
        ("ALIAS", "edge.example.net.", "edge.example.net."),
    ] {
        let name = format!("{}.example.com.", rtype.to_lowercase());
        let body = format!(
            r#"{{"rrsets":[{{"name":"{name}","type":"{rtype}","ttl":300,"changetype":"REPLACE","records":[{{"content":"{content}","disabled":false}}]}}]}}"#
        );
        for _ in 0..2 {
            assert_eq!(patch(&client, &body), (204, String::new()), "{rtype}");
        }
        let seen = client.contents(&name, rtype);
        assert!(seen == [shown], "{rtype}: {seen:?}");
        let body = format!(
            r#"{{"rrsets":[{{"name":"{name}","type":"{rtype}","ttl":0,"changetype":"DELETE","records":[]}}]}}"#
        );
        assert_eq!(patch(&client, &body), (204, String::new()), "{rtype}");
    }
    let soa = r#"{"rrsets":[{"name":"example.com.","type":"SOA","ttl":3600,"changetype":"REPLACE","records":[{"content":"ns1.example.net. hostmaster.example.com. 2026113001 10800 3600 604800 3600","disabled":false}]}]}"#;
    assert_eq!(patch(&client, soa), (204, String::new()));
    native(&service, "team-a", json!({"name": "www.example.com.", "type": "A", "values": ["192.0.2.1"]}));
    for rtype in ["CNAME", "ALIAS"] {
        let body = format!(
            r#"{{"rrsets":[{{"name":"www.example.com.","type":"{rtype}","ttl":300,"changetype":"REPLACE","records":[{{"content":"edge.example.net.","disabled":false}}]}}]}}"#
        );
        let (status, error) = patch(&client, &body);
        assert!(status == 422 && error.contains("Conflicts with pre-existing RRset"), "{rtype}: {status} {error}");
    }
    let outside = r#"{"rrsets":[{"name":"www.example.net.","type":"A","ttl":300,"changetype":"REPLACE","records":[{"content":"192.0.2.1","disabled":false}]}]}"#;
    let (status, error) = patch(&client, outside);
    assert!(status == 422 && error.contains("Not in zone"), "{error}");
    let refused = client.send("DELETE", ZONE, "");
    assert!(refused.status == 422 && refused.error().contains("Conflicts"), "{refused:?}");
    assert_eq!(service.api("DELETE", "/v1/owners/team-a?cascade=true", None).0, 200);
    assert_eq!(client.send("DELETE", ZONE, "").status, 204);
    assert_eq!(client.send("DELETE", ZONE, "").status, 404, "taken as success");
}

/// external-dns: whole zones echoed in the first versions, bare RRsets later; deletes with their records.
#[test]
fn external_dns() {
    let service = Service::start();
    Client::of(&service, "generic").zone();
    let client = Client::of(&service, "external-dns");
    let listed = client.send("GET", &format!("{SERVER}/zones"), "");
    assert_eq!(listed.json()[0]["id"], "example.com.");
    let rrset = |changetype: &str| {
        format!(
            r#"{{"name":"www.example.com.","type":"ALIAS","ttl":300,"changetype":"{changetype}","records":[{{"content":"edge.example.net.","disabled":false}}]}}"#
        )
    };
    let echoed = format!(
        r#"{{"id":"example.com.","name":"example.com.","type":"Zone","url":"{ZONE}","kind":"Native","serial":1,"dnssec":false,"account":"","rrsets":[{}]}}"#,
        rrset("REPLACE")
    );
    assert_eq!(patch(&client, &echoed), (204, String::new()));
    assert_eq!(patch(&client, &format!(r#"{{"rrsets":[{}]}}"#, rrset("REPLACE"))), (204, String::new()));
    assert_eq!(client.contents("www.example.com.", "ALIAS"), ["edge.example.net."]);
    // Read back as CNAME and deleted as one.
    let delete = rrset("DELETE").replace("ALIAS", "CNAME");
    assert_eq!(patch(&client, &format!(r#"{{"rrsets":[{delete}]}}"#)), (204, String::new()));
    assert_eq!(client.contents("www.example.com.", "ALIAS"), Vec::<String>::new());
}

/// Terraform, dnscontrol, the cert-manager webhook, lego, certbot, Designate and PowerDNS-Admin: each its oddest request.
#[test]
fn other_clients() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    let designate = r#"{"name":"example.com.","kind":"Native","masters":[],"nameservers":[],"soa_edit_api":"INCEPTION-INCREMENT","rrsets":null}"#;
    assert_eq!(client.send("POST", &format!("{SERVER}/zones"), designate).status, 201);
    for body in [
        // Terraform: ttl as it was read, set-ptr.
        r#"{"rrsets":[{"name":"www.example.com.","type":"A","changetype":"REPLACE","ttl":"300","records":[{"content":"192.0.2.1","name":"","type":"","ttl":0,"disabled":false,"set-ptr":false}]}]}"#,
        // dnscontrol: nulls where there is nothing.
        r#"{"rrsets":[{"name":"gone.example.com.","type":"A","changetype":"DELETE","ttl":0,"records":null,"comments":null}]}"#,
        // cert-manager: TTL 0, and cleaning up by an empty set.
        r#"{"rrsets":[{"name":"_acme-challenge.example.com.","type":"TXT","changetype":"REPLACE","ttl":0,"records":[{"content":"\"token\"","disabled":false}]}]}"#,
        r#"{"rrsets":[{"name":"_acme-challenge.example.com.","type":"TXT","changetype":"REPLACE","ttl":0,"records":[]}]}"#,
        // lego: keys of a record twice.
        r#"{"rrsets":[{"name":"_acme-challenge.example.com.","changetype":"REPLACE","type":"TXT","kind":"Master","ttl":120,"records":[{"content":"\"k\"","disabled":false,"name":"_acme-challenge.example.com.","type":"TXT","ttl":120}]}]}"#,
        // certbot: its spelling of set-ptr.
        r#"{"rrsets":[{"name":"_acme-challenge.example.com.","type":"TXT","ttl":60,"changetype":"replace","records":[{"content":"\"k\"","disabled":false,"set-prt":false}],"comments":[{"content":"","account":"certbot","modified_at":"1796040000"}]}]}"#,
        // PowerDNS-Admin: names in any case, comments that are empty.
        r#"{"rrsets":[{"name":"Www.Example.com.","type":"a","changetype":"REPLACE","ttl":300,"modified_at":0,"records":[{"content":"192.0.2.1","disabled":null}],"comments":[{"content":"","account":""}]}]}"#,
    ] {
        assert_eq!(patch(&client, body), (204, String::new()), "{body}");
    }
    assert_eq!(client.contents("www.example.com.", "A"), ["192.0.2.1"]);
    // acme.sh finds a record set by an expression over the text as it is.
    let text = client.send("GET", ZONE, "").text;
    let from = text.find(r#""name":"_acme-challenge.example.com.","records":["#).expect("its order of keys");
    let records = &text[from..from + text[from..].find(']').expect("an end")];
    assert!(records.ends_with(r#""records":[{"content":"\"k\"","disabled":false}"#), "{records}");
    for (method, path, body, wanted) in [
        ("GET", "/api", "", r#"[{"url":"/api/v1","version":1}]"#.to_owned()),
        ("GET", "/api/v1", "{}", r#"[{"api_features":[],"server_url":"/api/v1/servers{/server}"}]"#.to_owned()),
        ("PUT", &format!("{ZONE}/notify"), "", r#"{"result":"Notification queued"}"#.to_owned()),
        ("PUT", &format!("{SERVER}/zones/example.com/notify"), "{}", r#"{"result":"Notification queued"}"#.to_owned()),
        ("PUT", &format!("{ZONE}/rectify"), "", r#"{"result":"Rectified"}"#.to_owned()),
        (
            "PUT",
            &format!("{SERVER}/cache/flush?domain=example.com."),
            "",
            r#"{"count":0,"result":"Flushed cache."}"#.to_owned(),
        ),
        ("PUT", &format!("{SERVER}/cache/flush"), "", r#"{"error":"DNS Name '' is not canonical"}"#.to_owned()),
        ("GET", &format!("{SERVER}/statistics?statistic=x"), "", r#"{"error":"Unknown statistic name"}"#.to_owned()),
        ("GET", &format!("{SERVER}/search-data?q="), "", r#"{"error":"Query q can't be blank"}"#.to_owned()),
        ("GET", &format!("{SERVER}/tsigkeys"), "", "[]".to_owned()),
        ("GET", &format!("{ZONE}/cryptokeys"), "", "[]".to_owned()),
        ("GET", "/api/v1/servers/other", "", r#"{"error":"Not Found"}"#.to_owned()),
        (
            "POST",
            &format!("{ZONE}/cryptokeys"),
            "{}",
            r#"{"error":"DNSSEC is not available on this server yet"}"#.to_owned(),
        ),
        (
            "POST",
            &format!("{ZONE}/metadata"),
            r#"{"kind":"ALLOW-AXFR-FROM"}"#,
            r#"{"error":"Unsupported metadata kind 'ALLOW-AXFR-FROM'"}"#.to_owned(),
        ),
        (
            "PUT",
            &format!("{ZONE}/axfr-retrieve"),
            "",
            r#"{"error":"Domain 'example.com.' is not a secondary domain (or has no primary defined)"}"#.to_owned(),
        ),
        (
            "PUT",
            ZONE,
            r#"{"rrsets":[]}"#,
            r#"{"error":"Replacing all RRsets by PUT is not available on this server yet"}"#.to_owned(),
        ),
    ] {
        assert_eq!(client.send(method, path, body).text, wanted, "{method} {path}");
    }
    let server = client.send("GET", SERVER, "").json();
    let version: Vec<u32> = server["version"]
        .as_str()
        .expect("a text")
        .split(['.', '-'])
        .take(3)
        .map_while(|part| part.parse().ok())
        .collect();
    assert!(version.len() == 3 && version > vec![4, 5, 0], "{server}");
    let config = client.send("GET", &format!("{SERVER}/config"), "").json();
    let has = |name: &str| {
        config.as_array().is_some_and(|all| all.iter().any(|one| one["name"] == name && one["type"] == "ConfigSetting"))
    };
    assert!(["launch", "version-string", "enable-lua-records"].into_iter().all(has), "{config}");
    let statistics = client.send("GET", &format!("{SERVER}/statistics"), "").json();
    assert!(statistics.as_array().is_some_and(|all| all.iter().all(|one| one["value"].is_string())), "{statistics}");
    assert_eq!(
        client.send("GET", ZONE, "").json()["rrsets"].as_array().map(Vec::len).filter(|count| *count >= 4),
        Some(4)
    );
}

/// A large answer comes packed to who takes that, and is the same.
#[test]
fn gzip() {
    use std::io::Read as _;
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    let rrsets: Vec<Value> =
        (0..50).map(|number| super::door::replace(&format!("h{number}.example.com."), "A", &["192.0.2.1"])).collect();
    client.patched(json!(rrsets));
    let plain = client.send("GET", ZONE, "");
    let url = format!("http://{}{ZONE}", service.http);
    let (encoding, packed) = service.block_on(async {
        let request =
            reqwest::Client::new().get(url).header("x-api-key", &client.key).header("accept-encoding", "gzip");
        let response = request.send().await.expect("a response");
        let encoding = response.headers().get("content-encoding").cloned();
        (encoding, response.bytes().await.expect("a body"))
    });
    assert_eq!(encoding.as_ref().and_then(|value| value.to_str().ok()), Some("gzip"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("gzip");
    assert_eq!(text, plain.text);
}
