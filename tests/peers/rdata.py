"""RDATA of the generated zones as zone file text."""
from message import name_text, to_wire

# Types with RDATA that names nothing.
PLAIN = ["A", "AAAA", "TXT", "CAA", "SSHFP", "TLSA", "HINFO", "URI", "EUI48", "TYPE65280", "DS"]
# Types with RDATA that has a name.
POINTING = ["MX", "SRV", "PTR", "NAPTR", "SVCB", "HTTPS", "RP", "AFSDB", "KX"]


def digits(rng, octets):
    return "".join("%02x" % rng.randrange(256) for _ in range(octets))


def generic(octets):
    """The form of RFC 3597, for types that not all servers read otherwise."""
    return "\\# %d %s" % (len(octets), octets.hex())


def text(rng, octets):
    return '"' + "".join(rng.choice("abcdefghijklmnop 0123456789=-") for _ in range(octets)) + '"'


def plain(rng, rtype):
    """RDATA of a type of PLAIN."""
    if rtype == "A":
        return "192.0.2.%d" % rng.randrange(256)
    if rtype == "AAAA":
        return "2001:db8::%x" % rng.randrange(1, 65536)
    if rtype == "TXT":
        return " ".join(text(rng, rng.randrange(0, 30)) for _ in range(rng.randrange(1, 3)))
    if rtype == "CAA":
        return '%d issue "ca%d.example.net"' % (rng.choice([0, 128]), rng.randrange(9))
    if rtype == "SSHFP":
        return "4 2 " + digits(rng, 32)
    if rtype == "TLSA":
        return "3 1 1 " + digits(rng, 32)
    if rtype == "HINFO":
        return '"cpu%d" "os"' % rng.randrange(9)
    if rtype == "URI":
        return generic(bytes((0, rng.randrange(9), 0, 1)) + b"https://www.example.com/")
    if rtype == "EUI48":
        return generic(bytes((0, 0, 0x5e, 0, 0x53, rng.randrange(256))))
    if rtype == "DS":
        return "%d 13 2 %s" % (rng.randrange(65536), digits(rng, 32))
    return generic(bytes(rng.randrange(256) for _ in range(rng.randrange(1, 12))))


def pointing(rng, rtype, target):
    """RDATA of a type of POINTING, to a target as labels."""
    name = name_text(target)
    if rtype in ("AFSDB", "KX"):
        return generic(bytes((0, rng.choice([1, 10]))) + to_wire(target))
    if rtype == "MX":
        return "%d %s" % (rng.choice([1, 10, 20]), name)
    if rtype == "SRV":
        return "%d %d %d %s" % (rng.randrange(3), rng.randrange(99), rng.randrange(1, 9999), name)
    if rtype == "NAPTR":
        return '%d 10 "s" "SIP+D2T" "" %s' % (rng.randrange(99), name)
    if rtype == "SVCB":
        return rng.choice(["0 %s", "1 %s alpn=h2 port=8443"]) % name
    if rtype == "HTTPS":
        return rng.choice(["0 %s" % name, "1 %s alpn=h2,h3" % name, "2 . port=443", "1 ."])
    if rtype == "RP":
        return "%s %s" % (name, name)
    return name
