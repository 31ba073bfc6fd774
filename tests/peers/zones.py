"""Random zones from a seed, in groups of a parent and its children, made of what servers get wrong.

Wildcards, empty non-terminals, cuts with glue in and out of the delegated domain, chains and loops of CNAME and DNAME, RRsets
too large for UDP, labels with octets that zone files escape, and types whose targets get additional addresses.
"""
import ipaddress

from message import Record, TYPES, name_text, read_text, to_wire
from rdata import PLAIN, POINTING, generic, plain, pointing, text

MOST_NAME = 255
TTLS = [0, 5, 60, 300, 3600, 86400]
SUFFIX = (b"differ", b"test")
POOL = [b"a", b"b", b"c", b"www", b"mail", b"ns", b"_tcp", b"*", b"*", b"d-e", b"Case", b"x1", b"x2"]
ODD = [b"\0", b"a.b", b" ", b"\xff", b"x*", b"*x", b"**", b'"', b"\\", b";", b"@", b"$", b"(", b"l" * 63, b"\\000", b"A\x00b", b"\t"]


class Zone:
    """A zone: its apex as labels, and its RRsets: (owner, type) -> (ttl, [rdata as text])."""

    def __init__(self, apex):
        self.apex, self.sets = apex, {}

    def owners(self):
        return {owner for owner, _ in self.sets}

    def types(self, owner):
        return [rtype for name, rtype in self.sets if name == owner]

    def add(self, owner, rtype, ttl, data):
        """Adds a record, unless its name is too long."""
        if sum(map(len, owner)) + len(owner) + 1 <= MOST_NAME:
            values = self.sets.setdefault((owner, rtype), (ttl, []))[1]
            if data not in values:
                values.append(data)

    def text(self):
        """The zone file, a record a line, all names absolute."""
        ordered = sorted(self.sets.items(), key=lambda one: (one[0][1] != "SOA",))
        return "".join("%s %d IN %s %s\n" % (name_text(owner), ttl, rtype, data)
                       for (owner, rtype), (ttl, values) in ordered for data in values)


def referred(zone):
    """The A, AAAA and NS records of a zone, glue included, as a reply would have them."""
    found = set()
    for (owner, rtype), (ttl, values) in zone.sets.items():
        if rtype in ("A", "AAAA", "NS"):
            octets = [to_wire(read_text(one)).lower() if rtype == "NS" else ipaddress.ip_address(one).packed
                      for one in values]
            found |= {Record(to_wire(owner).lower(), TYPES[rtype], ttl, one) for one in octets}
    return found


def below(name, apex):
    return name[len(name) - len(apex):] == apex


class Maker:
    """Fills one zone."""

    def __init__(self, rng, zone, others):
        self.rng, self.zone, self.others = rng, zone, others
        self.names = [zone.apex]
        self.dnames, self.cuts, self.children = [], [], []

    def label(self):
        return self.rng.choice(ODD) if self.rng.random() < 0.12 else self.rng.choice(POOL)

    def new_name(self):
        base = self.rng.choice(self.names)
        depth = self.rng.choice([1, 1, 1, 2, 2, 3, 5])
        return tuple(self.label() for _ in range(depth)) + (base if len(base) < 12 else self.zone.apex)

    def target(self):
        """A name to point to: mostly one of the zone, at, below or beside a node."""
        rng, draw = self.rng, self.rng.random()
        base = rng.choice(self.names)
        if draw < 0.55:
            return tuple(rng.choice([b"w", b"q"]) if label == b"*" and rng.random() < 0.8 else label for label in base)
        if draw < 0.75:
            return (self.label(),) + base
        if draw < 0.85:
            return base[1:] if len(base) > len(self.zone.apex) else base
        if draw < 0.93 and self.others:
            return (self.label(),) + rng.choice(self.others)
        return (b"www", b"example", b"com")

    def free(self, owner):
        """Whether data may stand at a name: nothing of CNAME, DNAME or a cut there, no DNAME above."""
        types = self.zone.types(owner)
        return not types and not any(below(owner, dname) for dname in self.dnames + self.cuts)

    def fill(self, size):
        rng, zone = self.rng, self.zone
        zone.add(zone.apex, "SOA", rng.choice(TTLS), "%s %s %d 7200 900 1209600 %d" % (
            name_text((b"ns",) + zone.apex), name_text((b"host.master",) + zone.apex), rng.randrange(1, 2**31),
            rng.choice(TTLS)))
        self.servers(zone.apex, [(b"ns", b"example", b"net")] if rng.random() < 0.3 else [])
        for rtype in rng.sample(["MX", "TXT", "A", "AAAA", "HTTPS", "CAA"], rng.randrange(4)):
            self.put(zone.apex, rtype)
        deeds = [self.node] * 10 + [self.alias] * 4 + [self.redirect, self.cut, self.cut]
        for _ in range(size):
            rng.choice(deeds)()
        for deed in rng.sample([self.chain, self.large, self.loop, self.long_names, self.dname_chain], rng.randrange(1, 4)):
            deed()

    def put(self, owner, rtype):
        rng = self.rng
        ttl = rng.choice(TTLS)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            data = plain(rng, rtype) if rtype in PLAIN else pointing(rng, rtype, self.target())
            self.zone.add(owner, rtype, ttl, data)

    def node(self):
        owner = self.new_name()
        if self.free(owner):
            for rtype in self.rng.sample(PLAIN[:-1] + POINTING + ["A", "AAAA", "A", "MX", "SRV", "SVCB", "HTTPS"],
                                         self.rng.choice([1, 1, 2, 3])):
                self.put(owner, rtype)
            self.names.append(owner)

    def alias(self):
        owner = self.new_name()
        if self.free(owner):
            self.zone.add(owner, "CNAME", self.rng.choice(TTLS), name_text(self.target()))
            self.names.append(owner)

    def redirect(self):
        """A DNAME at a name that nothing is below."""
        owner = self.new_name()
        if owner[0] != b"*" and self.free(owner) and not any(below(name, owner) for name in self.zone.owners()):
            self.zone.add(owner, "DNAME", self.rng.choice(TTLS), name_text(self.target()))
            if self.rng.random() < 0.3:
                self.put(owner, "TXT")
            self.dnames.append(owner)
            self.names.append(owner)

    def cut(self):
        rng, owner = self.rng, self.new_name()
        if owner[0] == b"*" or not self.free(owner) or any(below(name, owner) for name in self.zone.owners()):
            return
        self.cuts.append(owner)
        self.servers(owner, [(b"ns", b"example", b"net")] if rng.random() < 0.4 else [])
        if rng.random() < 0.4:
            self.put(owner, "DS")
        # Occluded: other data below the cut, and a cut below the cut.
        if rng.random() < 0.2:
            self.zone.add((b"a",) + owner, "TXT", 60, text(rng, 8))
        if rng.random() < 0.2:
            self.zone.add((b"b",) + owner, "NS", 60, name_text((b"ns0", b"b") + owner))
            self.zone.add((b"ns0", b"b") + owner, "A", 60, plain(rng, "A"))
        self.names.append(owner)
        if all(label.isalnum() for label in owner) and rng.random() < 0.7:
            self.children.append(owner)

    def servers(self, owner, names):
        """NS of a cut or apex: below it, in other cuts, in the zone, or outside, with the addresses of most."""
        rng, zone, ttl = self.rng, self.zone, self.rng.choice(TTLS)
        names = names + [(b"ns%d" % n,) + owner for n in range(rng.choice([1, 1, 2, 3, 16]) if rng.random() < 0.8 else 0)]
        names += [(b"ns",) + other for other in rng.sample(self.cuts, min(len(self.cuts), rng.randrange(2)))]
        if owner != zone.apex and rng.random() < 0.3:
            names.append(self.target())
        for name in names or [(b"ns", b"example", b"org")]:
            zone.add(owner, "NS", ttl, name_text(name))
            types = zone.types(name)
            if below(name, zone.apex) and name[0] != b"*" and "CNAME" not in types and "NS" not in types:
                if not any(below(name, dname) for dname in self.dnames):
                    for rtype in rng.choice([["A"], ["A", "AAAA"], ["AAAA"]]):
                        zone.add(name, rtype, rng.choice(TTLS), plain(rng, rtype))

    def chain(self):
        """A chain of CNAMEs, up to beyond what is followed."""
        rng, length = self.rng, self.rng.choice([3, 8, 9, 12, 15, 16, 17, 20])
        at = [(b"k%d" % n, b"chain") + self.zone.apex for n in range(length)]
        for here, there in zip(at, at[1:] + [rng.choice([self.target(), (b"end", b"chain") + self.zone.apex])]):
            self.zone.add(here, "CNAME", rng.choice(TTLS), name_text(there))
        self.zone.add((b"end", b"chain") + self.zone.apex, "A", 60, plain(rng, "A"))
        self.names += at[:2] + at[-1:]

    def dname_chain(self):
        """DNAMEs in a row, or in a ring."""
        rng, length = self.rng, self.rng.choice([2, 3, 5])
        at = [(b"d%d" % n, b"dchain") + self.zone.apex for n in range(length)]
        last = rng.choice([at[0], self.zone.apex, self.target(), (b"in",) + at[0]])
        for here, there in zip(at, at[1:] + [last]):
            self.zone.add(here, "DNAME", rng.choice(TTLS), name_text(there))
        self.names += at
        self.dnames += at

    def loop(self):
        length = self.rng.choice([1, 2, 3, 4])
        at = [(b"o%d" % n, b"loop") + self.zone.apex for n in range(length)]
        for here, there in zip(at, at[1:] + [self.rng.choice(at)]):
            self.zone.add(here, "CNAME", 60, name_text(there))
        self.names += at

    def wild_ring(self):
        """A wildcard at the apex that leads into a ring; names of the parent's glue may be below it."""
        wild, ring = (b"*",) + self.zone.apex, (b"ring",) + self.zone.apex
        if self.rng.random() < 0.4 and self.free(wild) and self.free(ring):
            self.zone.add(wild, "CNAME", 60, name_text(ring))
            self.zone.add(ring, "CNAME", 60, name_text(ring))
            self.names += [wild, ring]

    def large(self):
        """RRsets around and above the sizes of UDP."""
        rng = self.rng
        owner = (b"large%d" % rng.randrange(9), rng.choice([b"*", b"big"])) + self.zone.apex
        if self.free(owner):
            for _ in range(rng.choice([20, 28, 29, 30, 60, 75, 200])):
                self.zone.add(owner, "A", 300, "198.51.100.%d" % rng.randrange(256))
            for _ in range(rng.choice([0, 3, 12])):
                self.zone.add(owner, "TXT", 300, text(rng, rng.randrange(90, 120)))
            for _ in range(rng.choice([0, 8, 20])):
                self.zone.add(owner, "MX", 300, pointing(rng, "MX", self.target()))
            self.names.append(owner)

    def huge(self):
        """RRsets that together are larger than a message over TCP, one of them nearly as large."""
        owner = (b"huge",) + self.zone.apex
        for _ in range(self.rng.choice([100, 230, 240, 243])):
            self.zone.add(owner, "TXT", 300, text(self.rng, 240))
        for _ in range(self.rng.choice([1, 12, 30])):
            self.zone.add(owner, "TYPE65280", 300, generic(bytes(self.rng.randrange(256) for _ in range(250))))
        self.names.append(owner)

    def long_names(self):
        """Names near 255 octets, and a DNAME whose target makes longer ones."""
        rng, apex = self.rng, self.zone.apex
        owner = (b"deep",) + apex
        while sum(map(len, owner)) + len(owner) + 1 < 190:
            owner = (b"m" * rng.randrange(20, 60),) + owner
        if self.free(owner):
            self.zone.add(owner, "A", 60, plain(rng, "A"))
            self.zone.add((b"grow",) + apex, "DNAME", 60, name_text(owner))
            self.dnames.append((b"grow",) + apex)
            self.names += [owner, (b"grow",) + apex]


def generate(rng, count):
    """About `count` zones of 10 to 60 names."""
    zones = []
    while len(zones) < count:
        apex = (b"z%d" % len(zones),) + SUFFIX
        others = [zone.apex for zone in zones[-8:]]
        maker = Maker(rng, Zone(apex), others)
        maker.fill(rng.choice([6, 15, 25, 50]))
        zones.append(maker.zone)
        lower = set()
        for child in maker.children[:2]:
            if tuple(label.lower() for label in child) not in lower:
                lower.add(tuple(label.lower() for label in child))
                inner = Maker(rng, Zone(child), others + [apex])
                inner.fill(rng.choice([3, 8]))
                inner.wild_ring()
                zones.append(inner.zone)
        if rng.random() < 0.04:
            maker.huge()
        if rng.random() < 0.06:
            # A zone whose apex is a DNAME, so that nothing else is in it.
            moved = Zone((b"moved%d" % len(zones),) + SUFFIX)
            inner = Maker(rng, moved, others)
            moved.add(moved.apex, "SOA", 60, "ns.example.net. host.example.net. 1 7200 900 1209600 %d" % rng.choice(TTLS))
            moved.add(moved.apex, "NS", 60, "ns.example.net.")
            moved.add(moved.apex, "DNAME", rng.choice(TTLS), name_text(rng.choice([apex, apex, (b"a",) + moved.apex])))
            inner.put(moved.apex, "A")
            zones.append(moved)
        if rng.random() < 0.1:
            # A zone below another one of ours that does not delegate it.
            inner = Maker(rng, Zone((b"undelegated",) + apex), others + [apex])
            inner.fill(4)
            zones.append(inner.zone)
    return zones
