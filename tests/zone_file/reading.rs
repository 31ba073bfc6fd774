//! F1 to F5: the form of the text.

use std::collections::HashMap;

use proptest::prelude::*;
use tenured::zone::file::{Include, Included, MAX_ERRORS, NoInclude, read};

use super::{HEAD, added, errors, lines, name, records, try_read};

#[test]
fn f1_owner_ttl_and_class_may_be_left_out_and_stand_in_either_order() {
    let text = "www 60 IN A 192.0.2.1\n IN 61 AAAA 2001:db8::1\n TXT one\nmail IN A 192.0.2.2\n@ 62 TXT \"at\"\n";
    assert_eq!(
        added(text),
        [
            "example.com. 62 TXT \"at\"",
            "mail.example.com. 61 A 192.0.2.2",
            "www.example.com. 60 A 192.0.2.1",
            "www.example.com. 61 TXT \"one\"",
            "www.example.com. 61 AAAA 2001:db8::1",
        ]
    );
}

#[test]
fn f1_parentheses_comments_line_ends_and_a_missing_last_line_end() {
    let text = "; a comment\r\n\r\n   \r\na 1 MX ( ; here\r\n 10 ; there\r\n mail )\r\nb 1 TXT \"; none ( \" x\\;y";
    assert_eq!(added(text), ["a.example.com. 1 MX 10 mail.example.com.", "b.example.com. 1 TXT \"; none ( \" \"x;y\""]);
}

#[test]
fn f1_escapes_name_any_octet() {
    let text =
        "a\\.b 1 A 192.0.2.1\n\\000\\032\\255 1 A 192.0.2.2\n\\@ 1 CNAME \\@.x\\ y\n\\$a 1 TXT \"q\\\"b\\\\\\007\"\n";
    assert_eq!(
        added(text),
        [
            "\\000\\032\\255.example.com. 1 A 192.0.2.2",
            "\\$a.example.com. 1 TXT \"q\\\"b\\\\\\007\"",
            "\\@.example.com. 1 CNAME \\@.x\\032y.example.com.",
            "a\\.b.example.com. 1 A 192.0.2.1",
        ]
    );
}

#[test]
fn f1_origin_is_followed_and_may_be_relative() {
    let text = "$ORIGIN sub\na 1 A 192.0.2.1\n$origin example.com.\na 1 CNAME @\n*.b.example.com. 1 A 192.0.2.2\n";
    assert_eq!(
        added(text),
        ["a.example.com. 1 CNAME example.com.", "*.b.example.com. 1 A 192.0.2.2", "a.sub.example.com. 1 A 192.0.2.1",]
    );
}

#[test]
fn f1_the_apex_is_where_the_soa_stands_and_absolute_names_need_no_origin() {
    let text = "other.example. 5 SOA ns.example.net. host.example.net. 1 2 3 4 5\n 5 NS ns.example.net.\n";
    let with = try_read(text.as_bytes()).expect("a zone");
    let without = read(text.as_bytes(), "example.com.zone", None, &mut NoInclude).expect("a zone");
    assert_eq!(with.origin, name("other.example"));
    assert_eq!(with, without);
    let relative = read(b"@ 5 SOA a. b. 1 2 3 4 5\nwww 5 A 192.0.2.1\n", "x", None, &mut NoInclude);
    assert_eq!(
        lines(&relative.expect_err("no origin")),
        [
            "x:1: the name `@` is wrong: it is relative and no origin is known; expected a final dot, or $ORIGIN before it",
            "x:2: the name `www` is wrong: it is relative and no origin is known; expected a final dot, or $ORIGIN before it",
        ]
    );
}

#[test]
fn f1_names_of_other_scripts_are_a_labels_and_texts_are_octets() {
    let wanted = ["xn--bcher-kva.example.com. 1 CNAME xn--caf-dma.example."];
    assert_eq!(added("bücher 1 CNAME café.example.\n"), wanted);
    let zone = try_read(
        format!("{HEAD}a 1 TXT \"bücher \u{1f980}\"\nb 1 TXT \"")
            .as_bytes()
            .iter()
            .copied()
            .chain(*b"\xff\x80\"\n")
            .collect::<Vec<_>>()
            .as_slice(),
    )
    .expect("a zone");
    let texts: Vec<&Vec<u8>> = zone.rrsets[2..].iter().map(|(_, rrset)| &rrset.records[0]).collect();
    assert_eq!(texts[0][1..], *"bücher \u{1f980}".as_bytes());
    assert_eq!(texts[1][..], *b"\x02\xff\x80");
}

#[test]
fn f2_ttl_is_its_own_else_the_directive_else_the_last_else_the_minimum_of_the_soa() {
    let ttls = |text: &str| -> Vec<u32> {
        let zone = try_read(text.as_bytes()).expect("a zone");
        zone.rrsets.iter().map(|(_, rrset)| rrset.ttl).collect()
    };
    let soa = "SOA ns.example.net. host 1 2 3 4";
    assert_eq!(
        ttls(&format!("$TTL 1h\n@ 9 {soa} 7\n@ NS a.example.\nb 8 NS a.example.\nc NS a.example.\n")),
        [3600, 9, 8, 3600]
    );
    assert_eq!(ttls(&format!("@ 9 {soa} 7\n@ NS a.example.\nb 8 NS a.example.\nc NS a.example.\n")), [9, 9, 8, 8]);
    assert_eq!(ttls(&format!("@ {soa} 7\n@ NS a.example.\n")), [7, 7]);
    assert_eq!(ttls(&format!("@ NS a.example.\n@ {soa} 1m\n")), [60, 60]);
}

#[test]
fn f2_units_and_the_longest_ttl() {
    assert_eq!(
        added("a 1h30m A 192.0.2.1\nb 1W2d A 192.0.2.1\nc 2147483647 A 192.0.2.1\n"),
        [
            "a.example.com. 5400 A 192.0.2.1",
            "b.example.com. 777600 A 192.0.2.1",
            "c.example.com. 2147483647 A 192.0.2.1",
        ]
    );
    assert_eq!(
        errors("a 2147483648 A 192.0.2.1\n$TTL 9999w\n$TTL 1x\n"),
        [
            "example.com.zone:3: the TTL 2147483648 is too long; expected at most 2147483647 seconds",
            "example.com.zone:4: the TTL 9999w is too long; expected at most 2147483647 seconds",
            "example.com.zone:5: `1x` is not a TTL; expected seconds, or numbers with units as in 1h30m",
        ]
    );
}

#[test]
fn f3_types_and_classes_by_number_and_data_as_octets() {
    let text = "a 1 CLASS1 TYPE1 \\# 4 c0 00 02 01\nb 1 TYPE65280 \\# 0\nc 1 IN A \\# 4 c0000202\nd 1 TYPE15 10 mail\n";
    assert_eq!(
        added(text),
        [
            "a.example.com. 1 A 192.0.2.1",
            "b.example.com. 1 TYPE65280 \\# 0",
            "c.example.com. 1 A 192.0.2.2",
            "d.example.com. 1 MX 10 mail.example.com.",
        ]
    );
    assert_eq!(
        errors("a 1 CH A 192.0.2.1\na 1 CLASS3 A 192.0.2.1\na 1 OPT x\na 1 WHAT x\na 1\n"),
        [
            "example.com.zone:3: the class CH is not served; expected IN",
            "example.com.zone:4: the class CLASS3 is not served; expected IN",
            "example.com.zone:5: OPT exists only in messages; expected the type of a record",
            "example.com.zone:6: `WHAT` is not a record type; expected one as A, MX, ALIAS or TYPE65280",
            "example.com.zone:7: the record ends before its type; expected name, TTL, class, type and data",
        ]
    );
}

#[test]
fn alias_is_read_in_all_its_forms() {
    let text =
        "a 1 ALIAS t\nb 1 aname t.example.\nc 1 TYPE65401 \\# 3 01 74 00\nd 1 TYPE65305 \\# 3 017400\ne 1 ALIAS @\n";
    assert_eq!(
        added(text),
        [
            "a.example.com. 1 ALIAS t.example.com.",
            "b.example.com. 1 ALIAS t.example.",
            "c.example.com. 1 ALIAS t.",
            "d.example.com. 1 ALIAS t.",
            "e.example.com. 1 ALIAS example.com.",
        ]
    );
    assert_eq!(errors("a 1 ALIAS 10 t\n").len(), 1);
    assert_eq!(errors("a 1 TYPE65401 \\# 4 017400ff\n").len(), 1);
}

#[test]
fn f4_generate_makes_a_row_of_records() {
    assert_eq!(
        added("$GENERATE 8-10/2 h${0,3} 60 IN A 192.0.2.$\n$GENERATE 1-2 $ 5 CNAME ${-1,2,x}.t.example.\n"),
        [
            "1.example.com. 5 CNAME 00.t.example.",
            "2.example.com. 5 CNAME 01.t.example.",
            "h008.example.com. 60 A 192.0.2.8",
            "h010.example.com. 60 A 192.0.2.10",
        ]
    );
    assert_eq!(
        errors("$GENERATE 250-300 h$ 1 A 192.0.2.$\n$GENERATE 0-65536 h$ 1 A 192.0.2.1\n$GENERATE 1-2 h$ A\n"),
        [
            "example.com.zone:3: $GENERATE for 256: the data of this A record is wrong; \
         expected an IPv4 address as 192.0.2.1, not `192.0.2.256`",
            "example.com.zone:4: $GENERATE makes 65537 records here; expected at most 65536 for one line",
            "example.com.zone:5: $GENERATE is wrong; expected range, name, type and data, as $GENERATE 1-9 host-$ A 192.0.2.$",
        ]
    );
    let long = format!("$GENERATE 0-65535 h 1 TXT {}\n", "\"0123456789\" ".repeat(400));
    assert_eq!(
        errors(&long),
        ["example.com.zone:3: all $GENERATE together make too much text; expected at most 268435456 octets"]
    );
    let many = "$GENERATE 0-65535 h 1 A 192.0.2.1\n".repeat(17);
    assert_eq!(
        errors(&many)[0],
        "example.com.zone:19: all $GENERATE together make too many records; expected at most 1048576"
    );
}

/// Files by name; those of a folder are not told apart.
struct Files(HashMap<&'static str, &'static str>);

impl Include for Files {
    fn open(&mut self, path: &str, from: &str) -> Result<Included, String> {
        let text = self.0.get(path).ok_or_else(|| format!("there is no file {path} beside {from}"))?;
        Ok(Included { file: path.to_owned(), text: text.as_bytes().to_vec() })
    }
}

#[test]
fn f4_include_is_asked_of_the_caller_and_an_upload_refuses_it() {
    let mut files = Files(HashMap::from([
        ("hosts", "www 1 A 192.0.2.1\n$ORIGIN deeper\n$INCLUDE more\n"),
        ("more", "a 1 A 192.0.2.2\n"),
        ("wrong", "a 1 A 192.0.2.2\n\nb 1 A what\n"),
        ("loop", "$INCLUDE loop\n"),
    ]));
    let mut read =
        |text: &str| read(format!("{HEAD}{text}").as_bytes(), "main", Some(&name("example.com")), &mut files);
    let zone = read("x 1 A 192.0.2.3\n$INCLUDE hosts sub ; comment\n 1 TXT x\ny 1 A 192.0.2.4\n").expect("a zone");
    assert_eq!(
        records(&zone)[2..],
        [
            "a.deeper.sub.example.com. 1 A 192.0.2.2",
            "www.sub.example.com. 1 A 192.0.2.1",
            "x.example.com. 1 A 192.0.2.3",
            "x.example.com. 1 TXT \"x\"",
            "y.example.com. 1 A 192.0.2.4",
        ]
    );
    let found = lines(&read("$INCLUDE \"wrong\"\n$INCLUDE absent\n$INCLUDE loop\n").expect_err("errors"));
    assert_eq!(
        found,
        [
            "main:4: there is no file absent beside main",
            "wrong:3: the data of this A record is wrong; expected an IPv4 address as 192.0.2.1, \
             not `what`",
            "loop:1: $INCLUDE of `loop` is too deep; expected at most 8",
        ]
    );
    assert_eq!(
        errors("$INCLUDE /etc/passwd\n"),
        [
            "example.com.zone:3: $INCLUDE of `/etc/passwd` is not possible in an upload; expected all records in one text",
        ]
    );
}

#[test]
fn f5_every_faulty_line_is_reported_and_the_rest_is_read() {
    let text = "a 1 A 192.0.2.256\nb..c 1 A 192.0.2.1\n 1 A 192.0.2.1\nok 1 A 192.0.2.1\nd 1 MX mail\ne 1 TXT \"open\n\
                f 1 SOA a b (\n 1 2\ng 1 A )\nh 1 TXT ok\n$OTHER 1\ni 1 A 192.0.2.1 192.0.2.2\nj 1 A\n";
    let found = errors(text);
    assert_eq!(
        found,
        [
            "example.com.zone:3: the data of this A record is wrong; expected an IPv4 address as \
             192.0.2.1, not `192.0.2.256`",
            "example.com.zone:4: the name `b..c` is wrong: a name cannot have an empty label (two dots in a row)",
            "example.com.zone:7: the data of this MX record is wrong; expected preference and host as \
             `10 mail.example.com.`, not `mail`",
            "example.com.zone:8: a quoted text is not closed; expected `\"` before the end of the line",
            "example.com.zone:9: the data of this SOA record is wrong; expected primary, mailbox, \
             serial, refresh, retry, expire and minimum as `ns1 hostmaster 1 2h 15m 2w 5m`, not `a b 1 2 g 1 A`",
            "example.com.zone:13: `$OTHER` is not a directive; expected $ORIGIN, $TTL, $INCLUDE or $GENERATE",
            "example.com.zone:14: the data of this A record is wrong (trailing tokens); expected an IPv4 address as 192.0.2.1, \
             not `192.0.2.1 192.0.2.2`",
            "example.com.zone:15: the data of this A record is wrong (unexpected end of entry); expected an IPv4 address as \
             192.0.2.1, not nothing",
        ]
    );
}

#[test]
fn f5_the_first_hundred_errors_are_reported() {
    let found = errors(&"x A what\n".repeat(300));
    assert_eq!(found.len(), MAX_ERRORS);
    assert!(found[99].starts_with("example.com.zone:102: "), "{}", found[99]);
}

#[test]
fn f5_a_first_record_without_a_name_is_refused() {
    let found = lines(&try_read(b"  A 192.0.2.1\n").expect_err("an error"));
    assert!(
        found[0].starts_with("example.com.zone:1: the first record has no name; expected a name, or `@`"),
        "{found:?}"
    );
}

/// Lines of parts that mean something, and of others.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        8 => prop::sample::select(vec![
            "@", "www", "IN", "CH", "300", "1h", "A", "AAAA", "MX", "TXT", "SOA", "NS", "SRV", "CAA", "NAPTR", "SVCB", "HTTPS",
            "TLSA", "SSHFP", "DS", "DNSKEY", "HINFO", "RP", "IPSECKEY", "OPENPGPKEY", "ZONEMD", "LOC", "CDS", "MINFO", "DNAME",
            "TYPE65280", "TYPE46", "ALIAS", "\\#", "4", "c0000201", "192.0.2.1", "2001:db8::1", "10", "\"text\"", "(", ")", ";",
            "\n", "\n ", "\r\n", "$TTL", "$ORIGIN", "$GENERATE 1-3", "$INCLUDE", "$", "${0,3,n}", "example.com.", ".", "..",
            "alpn=h2", "key1=\"a\\\"b\"", "ipv4hint=192.0.2.1", "mandatory=alpn", "\"", "\\", "\\000", "\\256", "é", "a.b.c",
        ]).prop_map(|part| part.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    let joint = prop_oneof![4 => Just(b" ".to_vec()), 1 => Just(Vec::new())];
    prop::collection::vec((part, joint), 0..40)
        .prop_map(|parts| parts.into_iter().flat_map(|(part, joint)| [part, joint]).flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Whatever the octets are, reading gives a zone or errors with their lines.
    #[test]
    fn no_text_makes_the_reader_panic(text in text(), head in any::<bool>()) {
        let text = if head { [HEAD.as_bytes(), &text].concat() } else { text };
        let line_count = text.iter().filter(|octet| **octet == b'\n').count() + 1;
        match try_read(&text) {
            Ok(zone) => prop_assert!(!zone.rrsets.is_empty()),
            Err(errors) => {
                prop_assert!(!errors.is_empty() && errors.len() <= MAX_ERRORS);
                prop_assert!(errors.iter().all(|error| (1..=line_count).contains(&error.line)));
            }
        }
    }

    /// So it is with octets that are no text at all.
    #[test]
    fn no_octets_make_the_reader_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(try_read(&octets).is_err());
    }
}
