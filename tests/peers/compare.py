"""Compares the reply of tenured with those of the peers, part by part, and checks what no peer is needed for."""
from collections import namedtuple

from message import to_wire
from servers import PEERS

PARTS = ["rcode", "aa", "tc", "bits", "cd", "question", "opt", "answer", "authority", "additional"]
SECTIONS = PARTS[-3:]
# How many of the peers must say the same as tenured for nothing to need a reason.
MAJORITY = 2
NS, CNAME, DNAME = 2, 5, 39
YXDOMAIN = 6
UDP_LIMIT = 1232

# replies by name of server; whole the same over TCP, None unless a reply was truncated. hosted: the A, AAAA and NS records of
# each zone, by its apex in lower-case wire form.
Case = namedtuple("Case", "query replies whole hosted")


def part(reply, name):
    """One part of a reply in a form that is equal if it says the same; sections of a truncated reply are one and the same."""
    if name in SECTIONS:
        return "truncated" if reply.tc else frozenset(getattr(reply, name))
    return getattr(reply, name)


def without_apex_servers(reply, case):
    """The reply without the NS of a hosted apex that NSD adds to AUTHORITY of positive answers (answers.md section 5)."""
    kept = [one for one in reply.authority if one.type != NS or one.owner not in case.hosted]
    return reply._replace(authority=kept) if reply.aa and reply.answer and not kept else reply


def differences(case):
    """Parts in which fewer than two peers agree with tenured. Sections are compared with peers of the same TC only."""
    theirs = [without_apex_servers(case.replies[peer], case) for peer in PEERS]
    ours = case.replies["tenured"]
    found = set()
    for name in PARTS:
        mine = part(ours, name)
        same = sum(part(one, name) == mine for one in theirs)
        if same < MAJORITY:
            found.add(name)
    if "tc" in found:
        found -= set(SECTIONS)
    return found


def faults(case):
    """What is wrong with the reply of tenured whatever the peers say (answers.md H11, H20, H22, Z1, Z3)."""
    query, ours = case.query, case.replies["tenured"]
    found = []
    if ours.question[:-4] != to_wire(query.labels):
        found.append("H11: the question is not the octets asked")
    for section in SECTIONS:
        records = getattr(ours, section)
        if len(set(records)) != len(records):
            found.append("H20: a record twice in " + section)
        if len({record[:3] for record in records}) != len({record[:2] for record in records}):
            found.append("H20: two TTLs in an RRset of " + section)
    limit = 512 if query.edns is None else min(UDP_LIMIT, max(512, query.edns[0]))
    if ours.tc and case.whole and case.whole.replies["tenured"].octets <= limit:
        found.append("Z1: truncated, and the whole reply fits")
    if not query.tcp and ours.octets > limit:
        found.append("Z3: %d octets over the limit of %d" % (ours.octets, limit))
    if (ours.opt is None) != (query.edns is None):
        found.append("E1, E2: OPT")
    if ours.tc and case.whole and not is_cut_from(ours, case.whole.replies["tenured"]):
        found.append("Z1: the truncated reply is not the beginning of the whole one, cut between RRsets")
    if not chain_is_in_order(to_wire(query.labels).lower(), ours):
        found.append("H22: the chain is not in the order that it is followed")
    return found


def rrsets(records):
    """RRsets in their order: (owner, type) -> set of records."""
    found = {}
    for record in records:
        found.setdefault((record.owner, record.type), set()).add(record)
    return found


def is_cut_from(part_of, whole):
    """Whether a truncated reply is the beginning of the whole one, ended between RRsets (Z1); additional ones may be any."""
    for section in SECTIONS:
        cut, all_of_it = rrsets(getattr(part_of, section)), rrsets(getattr(whole, section))
        if any(all_of_it.get(key) != records for key, records in cut.items()):
            return False
        if section != "additional" and list(cut) != list(all_of_it)[:len(cut)]:
            return False
    # Nothing of a later section without all of the answer.
    return not part_of.authority or len(part_of.answer) == len(whole.answer)


def chain_is_in_order(name, reply):
    """Whether each record of an answer belongs to the name that those before it lead to, and each DNAME has its CNAME."""
    records = reply.answer
    for at, record in enumerate(records):
        if record.type == DNAME and record.owner != name:
            made = name[:-len(record.owner)] + record.data
            follows = records[at + 1] if at + 1 < len(records) else None
            if not name.endswith(record.owner):
                return False
            if follows is None and reply.rcode != YXDOMAIN and not reply.tc:
                return False
            if follows is not None and (follows.type, follows.owner, follows.data) != (CNAME, name, made):
                return False
        elif record.owner != name:
            return False
        elif record.type == CNAME:
            name = record.data
    return True
