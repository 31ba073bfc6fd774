"""Queries about zones: names at, beside, below and above every node, with types that are and are not there."""
from collections import namedtuple

from message import TYPES, query_octets, type_name, type_number
from zones import MOST_NAME, ODD, POOL

# labels as sent; edns is None or (size, DO); bits are RD, AD, CD; tcp says how it is sent.
Query = namedtuple("Query", "labels rtype edns bits tcp zone")

# Zone transfers, and types that are refused before a lookup, have tests of their own.
ABSENT = [name for name in TYPES if name not in ("ANY", "DS")]
SIZES = [0, 511, 512, 513, 600, 900, 1200, 1231, 1232, 1233, 1452, 4096, 65535]


def fits(labels):
    return sum(map(len, labels)) + len(labels) + 1 <= MOST_NAME and all(0 < len(label) < 64 for label in labels)


def nodes(zone):
    """Owners and the empty non-terminals between them and the apex."""
    found = set()
    for owner in zone.owners():
        while len(owner) >= len(zone.apex) and owner not in found:
            found.add(owner)
            owner = owner[1:]
    return sorted(found)


def names(zone, rng):
    """Pairs of a name and the node it was made from."""
    found = []
    for node in nodes(zone):
        stray = rng.choice(ODD + POOL)
        found += [(node, node)] * 4
        found += [((node[0] + b"-",) + node[1:], node), ((node[0][:-1] or b"0",) + node[1:], node),
                  ((stray,) + node[1:], node)]
        found += [((rng.choice(POOL),) + node, node), ((b"*",) + node, node), ((b"q", stray) + node, node),
                  ((b"nothing",) + node, node), ((b"nothing",) + node, node)]
        found += [(node[1:], node)]
        long = node
        while fits((b"p" * 30,) + long) and rng.random() < 0.9:
            long = (b"p" * 30,) + long
        found.append((long, node))
        if node[0] == b"*":
            found += [((stray,) + node[1:], node), ((b"deep", b"er") + node[1:], node)]
        if "DNAME" in zone.types(node):
            room = MOST_NAME - sum(map(len, node)) - len(node) - 2
            for extra in range(1, 4):
                length = min(63, max(1, room - rng.randrange(60)))
                found.append(((b"y" * length,) + long if rng.random() < 0.5 else (b"y" * 63,) * extra + node, node))
    apex = zone.apex
    found += [(apex[1:], apex), (apex[2:], apex), ((b"not" + apex[0],) + apex[1:], apex), (apex + apex, apex),
              ((b"www",) + apex[1:], apex)]
    return [pair for pair in found if fits(pair[0])]


def mixed(labels, rng):
    """The name in a random letter case."""
    def one(octet):
        letter = 65 <= octet & 0xDF <= 90
        return octet ^ 0x20 if letter and rng.random() < 0.5 else octet
    return tuple(bytes(one(octet) for octet in label) for label in labels)


def a_type(zone, node, rng):
    draw = rng.random()
    if draw < 0.20 and "DNAME" in zone.types(node):
        return TYPES["ANY"]
    if draw < 0.40:
        return type_number(rng.choice(zone.types(node) or ["A"]))
    if draw < 0.50:
        return TYPES["ANY"]
    if draw < 0.58:
        return TYPES["DS"]
    if draw < 0.64:
        return rng.choice([0, 55555, 65280, 65281, 32768, 65534, 65535, 1234, 54, 100, rng.randrange(300, 32000)])
    if draw < 0.78:
        return rng.choice([1, 28, 2, 5, 6, 16, 39])
    return TYPES[rng.choice(ABSENT)]


def generate(zones, count, rng):
    """`count` queries, as many about each zone."""
    made = []
    for index, zone in enumerate(zones):
        near = names(zone, rng)
        for _ in range(count * (index + 1) // len(zones) - count * index // len(zones)):
            labels, node = rng.choice(near)
            if rng.random() < 0.3:
                labels = mixed(labels, rng)
            edns = None if rng.random() < 0.5 else (rng.choice(SIZES), rng.random() < 0.5)
            bits = rng.choice([0, 0x100]) | rng.choice([0] * 9 + [0x20]) | rng.choice([0] * 9 + [0x10])
            made.append(Query(labels, a_type(zone, node, rng), edns, bits, rng.random() < 0.12, zone))
    return made


def octets(query, ident):
    return query_octets(ident, query.labels, query.rtype, query.bits, query.edns)


def show(query):
    from message import name_text
    edns = "no EDNS" if query.edns is None else "EDNS %d%s" % (query.edns[0], " DO" if query.edns[1] else "")
    return "%s %s, %s, %s, flags %03x" % (name_text(query.labels), type_name(query.rtype), edns,
                                          "TCP" if query.tcp else "UDP", query.bits)
