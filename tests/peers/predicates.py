"""The vocabulary of `explained.txt`: each predicate says one thing about a query and its replies.

Predicates do not only recognise a kind of query: together they check, with what at least one peer says (over TCP where a reply
was truncated), that the reply of tenured is what the rule wants.
"""
from compare import UDP_LIMIT
from message import TYPES, from_wire, to_wire
from servers import PEERS

CNAME, SOA, NS = TYPES["CNAME"], TYPES["SOA"], TYPES["NS"]
NOTIMP = 4
MOST_STEPS = 16
# CNAMEs after which Knot stops, the first of the peers to do so.
KNOT_STEPS = 5
PREDICATES = {}


def predicate(function):
    PREDICATES[function.__name__] = function
    return function


def ours(case):
    return case.replies["tenured"]


def peers(case):
    return [case.replies[name] for name in PEERS]


def whole(case):
    """Our reply without the limit of UDP."""
    return case.whole.replies["tenured"] if case.whole else ours(case)


def untruncated(case):
    """Replies of peers without TC, over TCP where UDP gave one with TC."""
    return [case.whole.replies[name] if case.replies[name].tc and case.whole else case.replies[name] for name in PEERS]


def same(one, case):
    """Whether a peer says the same, additional records and the NS that NSD adds to a positive answer left aside."""
    mine = ours(case)
    added = set(one.authority) - set(mine.authority)
    minimal = bool(mine.answer) and not mine.authority and all(
        record.type == NS and record.owner in case.apexes for record in added)
    return (one.rcode, one.aa, one.tc, set(one.answer)) == (mine.rcode, mine.aa, mine.tc, set(mine.answer)) and (
        minimal or set(one.authority) == set(mine.authority))


def zone_of(wire, case):
    """The apex of the hosted zone that a name in wire form is of, None if there is none."""
    while wire not in case.apexes:
        if wire == b"\0":
            return None
        wire = wire[1 + wire[0]:]
    return wire


def cnames(reply):
    return [record for record in reply.answer if record.type == CNAME]


def limit(query):
    return 65535 if query.tcp else 512 if query.edns is None else min(UDP_LIMIT, max(512, query.edns[0]))


def in_domain(reply):
    """Addresses of a referral at or below its cut."""
    cuts = [from_wire(record.owner) for record in reply.authority if record.type == NS]
    return {record for record in reply.additional if any(from_wire(record.owner)[-len(cut):] == cut for cut in cuts)}


@predicate
def any_asked(case):
    """QTYPE is ANY."""
    return case.query.rtype == TYPES["ANY"]


@predicate
def udp(case):
    return not case.query.tcp


@predicate
def tcp(case):
    return case.query.tcp


@predicate
def nsec3_asked(case):
    """QTYPE is NSEC3."""
    return case.query.rtype == TYPES["NSEC3"]


@predicate
def smallest_rrset(case):
    """Our answer ends in the one RRset of the name that is the smallest of all that the peers know, of equals the lowest type."""
    known, mine = {}, {}
    for reply in peers(case) + untruncated(case):
        for record in reply.answer:
            known.setdefault((record.owner, record.type), set()).add(record)
    for record in ours(case).answer:
        mine.setdefault((record.owner, record.type), set()).add(record)
    if ours(case).rcode or not mine:
        return False
    last = ours(case).answer[-1].owner
    of_name = {key: records for key, records in known.items() if key[0] == last}
    least = min(of_name, key=lambda key: (sum(12 + len(one.data) for one in of_name[key]), key[1]), default=None)
    return [key for key in mine if key[0] == last] == [least] and all(known.get(key) == mine[key] for key in mine)


@predicate
def all_of_bind(case):
    """Our answer is the one of BIND, the one peer that gives all RRsets of a name for ANY."""
    return not ours(case).tc and set(ours(case).answer) == set(case.replies["bind"].answer)


@predicate
def a_peer_agrees(case):
    """At least one peer says the same, over TCP where it truncates."""
    return not ours(case).tc and bool([one for one in untruncated(case) if same(one, case)])


@predicate
def a_peer_refuses_the_type(case):
    """A peer says NOTIMP: Knot for types without data, BIND for MAILA and MAILB."""
    return NOTIMP in [one.rcode for one in peers(case)] and case.query.rtype in (0, TYPES["MAILA"], TYPES["MAILB"])


@predicate
def long_chain(case):
    """Our answer has more CNAMEs than Knot follows."""
    return len(cnames(ours(case))) > KNOT_STEPS


@predicate
def others_stop_on_the_way(case):
    """Each peer says the same, or has a part of our answer, or refuses the type."""
    mine = set(ours(case).answer)
    return all(same(one, case) or set(one.answer) <= mine for one in untruncated(case))


@predicate
def sixteen_steps(case):
    """Our answer is 16 CNAMEs and their DNAMEs, NOERROR, without SOA."""
    reply = ours(case)
    return len(cnames(reply)) == MOST_STEPS and not reply.rcode and not reply.authority and not reply.tc


@predicate
def a_peer_goes_on(case):
    """NSD follows the same chain further: its answer contains ours."""
    return bool([one for one in untruncated(case) if set(one.answer) > set(ours(case).answer)])


@predicate
def leaves_the_zone(case):
    """Our answer ends in a CNAME to a name of another zone or of none, NOERROR, without SOA."""
    steps = cnames(ours(case))
    if not steps or steps[-1] != ours(case).answer[-1] or ours(case).rcode or ours(case).authority or ours(case).tc:
        return False
    return zone_of(steps[-1].data, case) != zone_of(to_wire(case.query.labels).lower(), case)


@predicate
def a_peer_has_the_chain(case):
    """A peer's answer has ours in it."""
    return bool([one for one in untruncated(case) if set(one.answer) >= set(ours(case).answer)])


@predicate
def ends_in_a_ring(case):
    """The last CNAME leads to a name that the chain came from."""
    steps = cnames(ours(case))
    return bool(steps) and steps[-1].data in [one.owner for one in steps] and not ours(case).rcode


@predicate
def over_the_limit(case):
    """Our reply is truncated, and the whole one is larger than the limit."""
    return ours(case).tc and whole(case).octets > limit(case.query)


@predicate
def referral(case):
    reply = whole(case)
    return not reply.aa and not reply.answer and bool([one for one in reply.authority if one.type == NS])


@predicate
def others_leave_glue_out(case):
    """Each peer without TC lacks in-domain glue that the whole referral has."""
    return all(one.tc or one.rcode or in_domain(one) < in_domain(whole(case)) for one in peers(case))


@predicate
def soa_is_missing(case):
    """The whole reply has the SOA of a negative answer, and ours lacks it, or a part of the chain before it."""
    return bool([one for one in whole(case).authority if one.type == SOA]) and not ours(case).authority


@predicate
def chain_is_cut(case):
    """Our truncated answer is a part of the whole one, so that its last name was not reached."""
    return ours(case).tc and set(ours(case).answer) < set(whole(case).answer)


@predicate
def fits(case):
    """Our reply is whole and within the limit, while a peer truncates, and a peer agrees over TCP or UDP."""
    return not ours(case).tc and True in [one.tc for one in peers(case)] and a_peer_agrees(case)


@predicate
def known_addresses(case):
    """Our additional records are a part of what the peers give in all, and all in-domain glue is there."""
    known = {record for one in peers(case) + untruncated(case) for record in one.additional}
    glue = {record for one in peers(case) + untruncated(case) if not one.aa for record in in_domain(one)}
    mine = set(ours(case).additional)
    return mine <= known and (ours(case).aa or glue <= mine)
