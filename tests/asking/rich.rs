//! One Snapshot with something of everything: for whoever asks what nobody thought of.

use tenured::zone::snapshot::Snapshot;

use super::hosted::{Hosting, entry, family_answer, zone};
use super::sample::SAMPLE;
use super::{NOW, key, name};

/// A zone of chains, loops, long names, large RRsets, and ALIAS records in every state.
const ODD: &str = "$TTL 300
@ SOA ns hostmaster 1 7200 900 1209600 60
@ NS ns
@ NS ns.example.com.
@ ALIAS www.example.com.
ns A 192.0.2.1
ns AAAA 2001:db8::1
chain18 A 192.0.2.18
loop CNAME pool
pool CNAME loop
out CNAME www.example.net.
over CNAME www.example.com.
into CNAME a.b.cut
*.cname CNAME x.wild
*.wild A 192.0.2.2
*.wild MX 10 mail.wild
a.*.star TXT \"below an asterisk\"
ent.one.two.three A 192.0.2.3
cut NS ns.cut
cut NS ns.example.com.
cut DS 1 13 2 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
ns.cut A 192.0.2.4
ns.cut AAAA 2001:db8::4
self DNAME x.self
here DNAME there
target.there A 192.0.2.5
there DNAME here
$GENERATE 1-40 many MX $ mx$
$GENERATE 1-40 mx$ A 192.0.2.$
$GENERATE 1-40 mx$ AAAA 2001:db8::$
$GENERATE 1-20 names NS ns$.names
$GENERATE 1-20 ns$.names A 198.51.100.$
$GENERATE 1-200 large TXT \"${0,240}\"
$GENERATE 1-900 large TYPE65280 \\# 50 ${0,100}
$GENERATE 1-200 round TXT \"${0,200}\"
fits TXT \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
\\000\\255\\.\\032 A 192.0.2.6
$GENERATE 1-3 \\052$ A 192.0.2.$
all A 192.0.2.7
all HINFO \"a\" \"b\"
all TXT \"a\" \"\"
all RP a b
all SRV 1 2 3 ns
all NAPTR 1 2 \"u\" \"s\" \"!.*!x!\" ns
all CAA 0 issue \";\"
all SSHFP 1 1 aabb
all TLSA 3 1 1 aabb
all SVCB 1 ns alpn=h2 port=53
all HTTPS 0 ns
near ALIAS www
near MX 1 near
first ALIAS second
second ALIAS first
kept ALIAS kept.example.net.
none ALIAS none.example.net.
nowhere ALIAS nowhere.example.net.
late ALIAS late.example.net.
unasked ALIAS unasked.example.net.
*.alias ALIAS kept.example.net.
to-alias CNAME kept
www A 192.0.2.8
child NS ns.child
ns.child A 192.0.2.9
";

/// A child of [`ODD`]'s origin that is hosted too.
const CHILD: &str = "$TTL 300\n@ SOA ns hostmaster 1 2 3 4 5\n@ NS ns\nns A 192.0.2.9\n* TXT \"below\"\n";

/// The Snapshot: `example.com.`, `gap.test.` and `sample.test.` with the sample zone, `odd.example.` with its child
/// `child.odd.example.`, and `broken.example.` without an SOA.
pub fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::new(key());
    let plain = Hosting::default();
    let chain: String = (1..18).map(|at| format!("chain{at} CNAME chain{}\n", at + 1)).collect();
    let long = ["a", "b", "c"].map(|letter| letter.repeat(60)).join(".");
    let odd = format!("{ODD}{chain}long DNAME {long}\n");
    for (origin, text) in [
        ("example.com.", SAMPLE),
        ("gap.test.", SAMPLE),
        ("sample.test.", SAMPLE),
        ("odd.example.", &odd),
        ("child.odd.example.", CHILD),
    ] {
        snapshot.put_zone(zone(text, &name(origin), &plain));
    }
    let without_soa = Hosting { without_soa: true, ..Hosting::default() };
    snapshot.put_zone(zone(SAMPLE, &name("broken.example."), &without_soa));
    for (target, a, aaaa) in [
        ("kept.example.net.", &["resolved", "192.0.2.80", "192.0.2.81"][..], &["resolved", "2001:db8::80"][..]),
        ("none.example.net.", &["nodata"], &["nodata"]),
        ("nowhere.example.net.", &["targetnxdomain"], &["targetnxdomain"]),
        ("late.example.net.", &["timeout", "192.0.2.82", "age=400"], &["servfail"]),
    ] {
        let (a, aaaa) = (family_answer(a, NOW), family_answer(aaaa, NOW));
        snapshot.alias.put(entry(target, Some(a), Some(aaaa), NOW));
    }
    snapshot
}
