//! A small zone with something of each kind.

/// Its text; the origin is `example.com.`.
pub const SAMPLE: &str = "$TTL 3600
@ SOA ns1 hostmaster 1 7200 900 1209600 300
@ NS ns1
@ MX 10 mail
ns1 A 192.0.2.1
mail A 192.0.2.25
mail AAAA 2001:db8::25
www A 192.0.2.10
www AAAA 2001:db8::10
www TXT \"v=spf1 -all\"
www CAA 0 issue \"ca.example\"
*.wild A 192.0.2.11
*.wild TXT \"a wildcard\"
sub NS ns.sub
sub NS ns2.sub
sub DS 12345 13 2 aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899
ns.sub A 192.0.2.53
ns2.sub A 192.0.2.54
to CNAME www
_sip._tcp SRV 0 0 5060 mail
ptr PTR www
big TXT \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
old DNAME wild
";
