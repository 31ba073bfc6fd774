"""Messages on the wire: queries as octets, and replies as sets of records in one normal form.

Names are tuples of labels (bytes) without the root. In replies letter case, compression and order are left aside: an owner is
its lower-case wire form, and names in the RDATA of the types below are written out and lowered too.
"""
import re
import struct
from collections import namedtuple

TYPES = {
    "A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "MB": 7, "PTR": 12, "HINFO": 13, "MINFO": 14, "MX": 15, "TXT": 16, "RP": 17,
    "AFSDB": 18, "RT": 21, "AAAA": 28, "LOC": 29, "SRV": 33, "NAPTR": 35, "KX": 36, "CERT": 37, "DNAME": 39, "DS": 43,
    "SSHFP": 44, "RRSIG": 46, "NSEC": 47, "DNSKEY": 48, "NSEC3": 50, "NSEC3PARAM": 51, "TLSA": 52, "CDS": 59,
    "OPENPGPKEY": 61, "SVCB": 64, "HTTPS": 65, "SPF": 99, "EUI48": 108, "MAILB": 253, "MAILA": 254, "ANY": 255,
    "URI": 256, "CAA": 257,
}
NAMES = {number: name for name, number in TYPES.items()}
RCODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED", 6: "YXDOMAIN"}
OPT = 41
# Where RDATA has names: n is a name, a digit so many octets, s a character string, what follows is opaque.
LAYOUTS = {
    2: "n", 5: "n", 6: "nn", 7: "n", 12: "n", 14: "nn", 15: "2n", 17: "nn", 18: "2n", 21: "2n", 33: "6n", 35: "4sssn",
    36: "2n", 39: "n", 64: "2n", 65: "2n",
}

Record = namedtuple("Record", "owner type ttl data")
# Sections are lists of records in the order of the message; opt is None or (version, DO).
Reply = namedtuple("Reply", "id rcode aa tc bits cd question answer authority additional opt octets")


class Malformed(Exception):
    """The reply is no DNS message."""


def type_name(number):
    return NAMES.get(number, "TYPE%d" % number)


def type_number(name):
    return int(name[4:]) if name.startswith("TYPE") else TYPES[name]


def to_wire(labels):
    return b"".join(bytes((len(label),)) + label for label in labels) + b"\0"


def from_wire(wire):
    labels, at = [], 0
    while wire[at]:
        labels.append(wire[at + 1:at + 1 + wire[at]])
        at += 1 + wire[at]
    return tuple(labels)


def label_text(label):
    return "".join(chr(o) if chr(o).isalnum() and o < 128 or o in b"-_*" else "\\%03d" % o for o in label)


def name_text(labels):
    """Presentation form, absolute; every octet that could be special is written as its number."""
    return "".join(label_text(label) + "." for label in labels) or "."


def read_text(text):
    """A name in presentation form as labels."""
    labels, label, at = [], b"", 0
    while at < len(text):
        if text[at] == "\\":
            number = re.match(r"\d{3}", text[at + 1:at + 4])
            label += bytes((int(number.group(0)),)) if number else text[at + 1].encode()
            at += 4 if number else 2
        elif text[at] == ".":
            labels, label, at = labels + [label], b"", at + 1
        else:
            label, at = label + text[at].encode(), at + 1
    return tuple(one for one in labels + [label] if one)


def query_octets(ident, labels, rtype, bits, edns):
    """A query; bits are flags of the header (RD 0x100, AD 0x20, CD 0x10), edns is None or (size, DO)."""
    head = struct.pack("!6H", ident, bits, 1, 0, 0, 1 if edns else 0)
    opt = b"" if edns is None else struct.pack("!BHHBBHH", 0, OPT, edns[0], 0, 0, 0x8000 if edns[1] else 0, 0)
    return head + to_wire(labels) + struct.pack("!HH", rtype, 1) + opt


def read_name(message, at):
    """The name at an offset in lower-case wire form, and the offset behind it."""
    parts, end, hops = [], None, 0
    while True:
        length = message[at]
        if length == 0:
            parts.append(b"\0")
            return b"".join(parts).lower(), at + 1 if end is None else end
        if length < 64:
            parts.append(message[at:at + 1 + length])
            at += 1 + length
        elif length >= 192 and hops < 128:
            end = at + 2 if end is None else end
            at = (length & 63) << 8 | message[at + 1]
            hops += 1
        else:
            raise Malformed("label type")


def normal_data(message, at, end, layout):
    parts = []
    for item in layout:
        if item == "n":
            name, at = read_name(message, at)
            parts.append(name)
        else:
            length = 1 + message[at] if item == "s" else int(item)
            parts.append(message[at:at + length])
            at += length
    if at > end:
        raise Malformed("RDATA is longer than it says")
    return b"".join(parts) + message[at:end]


def read_reply(message):
    """A message as Reply; raises Malformed."""
    try:
        ident, flags, questions, *counts = struct.unpack_from("!6H", message)
        at, question = 12, b""
        if questions == 1:
            at = read_name(message, at)[1] + 4
            question = message[12:at]
        sections, opt, rcode = [], None, flags & 15
        for count in counts:
            records = []
            for _ in range(count):
                owner, at = read_name(message, at)
                rtype, rclass, ttl, length = struct.unpack_from("!HHIH", message, at)
                at += 10
                if at + length > len(message):
                    raise Malformed("RDATA past the end")
                if rtype == OPT:
                    opt = (ttl >> 16 & 255, bool(ttl & 0x8000))
                    rcode |= ttl >> 24 << 4
                else:
                    layout = LAYOUTS.get(rtype)
                    data = normal_data(message, at, at + length, layout) if layout else message[at:at + length]
                    records.append(Record(owner, rtype, ttl, data))
                at += length
            sections.append(records)
    except (IndexError, struct.error) as error:
        raise Malformed(str(error))
    if at != len(message) or not flags & 0x8000 or flags & 0x7800:
        raise Malformed("octets left over, QR clear, or another opcode")
    # RD, RA, Z, AD stay together: 0x100, 0x80, 0x40, 0x20.
    return Reply(ident, rcode, bool(flags & 0x400), bool(flags & 0x200), flags & 0x1E0, bool(flags & 0x10), question,
                 sections[0], sections[1], sections[2], opt, len(message))


def show_record(record):
    names = LAYOUTS.get(record.type, "")
    data = record.data.hex()
    if names[:1] == "n" or names[:2] in ("2n", "6n"):
        skip = 0 if names[0] == "n" else int(names[0])
        name, end = read_name(record.data, skip)
        rest = record.data[end:].hex() if names != "nn" else record.data[end:end + 60].hex()
        data = " ".join(part for part in (record.data[:skip].hex(), name_text(from_wire(name)), rest) if part)
    elif record.type == 1:
        data = ".".join(map(str, record.data))
    return "%s %d %s %s" % (name_text(from_wire(record.owner)), record.ttl, type_name(record.type), data)


def show_reply(reply):
    """A reply for people, a record a line."""
    head = "%s aa=%d tc=%d bits=%03x cd=%d opt=%s octets=%d" % (
        RCODES.get(reply.rcode, reply.rcode), reply.aa, reply.tc, reply.bits, reply.cd, reply.opt, reply.octets)
    lines = [head]
    for title in ("answer", "authority", "additional"):
        records = getattr(reply, title)
        lines += ["  %-10s %s" % (title, show_record(record)) for record in records[:24]]
        if len(records) > 24:
            lines.append("  %-10s and %d more" % (title, len(records) - 24))
    return "\n".join(lines)
