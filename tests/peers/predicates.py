"""The vocabulary of `explained.txt`: each predicate says one thing about a query and its replies.

Predicates do not only recognise a kind of query: together they check, with what at least one peer says (over TCP where a reply
was truncated), that the reply of tenured is what the rule wants.
"""
from compare import UDP_LIMIT
from message import TYPES, from_wire, read_name, to_wire
from servers import PEERS

CNAME, DNAME, SOA, NS = TYPES["CNAME"], TYPES["DNAME"], TYPES["SOA"], TYPES["NS"]
NOTIMP, YXDOMAIN = 4, 6
# Types with targets, and the octet of RDATA at which the target begins.
TARGETS = {NS: 0, TYPES["MX"]: 2, TYPES["SRV"]: 6, TYPES["SVCB"]: 2, TYPES["HTTPS"]: 2}
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
        record.type == NS and record.owner in case.hosted for record in added)
    return (one.rcode, one.aa, one.tc, set(one.answer)) == (mine.rcode, mine.aa, mine.tc, set(mine.answer)) and (
        minimal or set(one.authority) == set(mine.authority))


def zone_of(wire, case):
    """The apex of the hosted zone that a name in wire form is of, None if there is none."""
    while wire not in case.hosted:
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


def chain_is_known(case):
    """Whether the CNAMEs and DNAMEs of our answer are the first ones of a peer's."""
    links = [one for one in ours(case).answer if one.type in (CNAME, DNAME)]
    return links in [[one for one in reply.answer if one.type in (CNAME, DNAME)][:len(links)] for reply in untruncated(case)]


def begins_like_ours(one, case):
    """Whether the first records of a peer's answer are ours."""
    mine = ours(case).answer
    return set(one.answer[:len(mine)]) == set(mine)


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
def ds_asked(case):
    """QTYPE is DS."""
    return case.query.rtype == TYPES["DS"]


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
    if ours(case).rcode or ours(case).tc or not mine or not chain_is_known(case):
        return False
    last = ours(case).answer[-1].owner
    of_name = {key: records for key, records in known.items() if key[0] == last}
    least = min(of_name, key=lambda key: (sum(12 + len(one.data) for one in of_name[key]), key[1]), default=None)
    return [key for key in mine if key[0] == last] == [least] and all(known.get(key) == mine[key] for key in mine)


@predicate
def through_a_dname(case):
    return DNAME in [one.type for one in ours(case).answer]


@predicate
def all_or_least_known(case):
    """A peer agrees; or NSD or Knot have our rcode, and at the end of our chain stands all that the peers give there (TCP), or no
    larger RRset than theirs."""
    if a_peer_agrees(case):
        return True
    if not ours(case).answer or ours(case).rcode or 0 not in [one.rcode for one in untruncated(case)[:2]] or (
            not chain_is_known(case)):
        return False
    last = ours(case).answer[-1].owner
    mine = {one for one in ours(case).answer if one.owner == last}
    known = {one for reply in untruncated(case) for one in reply.answer if one.owner == last}
    if case.query.tcp:
        return known <= mine
    sizes = [sum(12 + len(one.data) for one in known if one.type == rtype) for rtype in {one.type for one in known}]
    return len({one.type for one in mine}) == 1 and all(sum(12 + len(one.data) for one in mine) <= size for size in sizes)


@predicate
def all_of_bind(case):
    """Our answer is the one of BIND, the one peer that gives all RRsets of a name for ANY; or both are too large for TCP."""
    theirs = case.replies["bind"]
    return ours(case).tc == theirs.tc and (theirs.tc or set(ours(case).answer) == set(theirs.answer))


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
    """NSD follows the same chain further: its answer contains ours, or the next step makes too long a name."""
    length = len(ours(case).answer)
    return bool([one for one in untruncated(case)
                 if begins_like_ours(one, case) and (len(one.answer) > length or one.rcode == YXDOMAIN)])


@predicate
def grows_to_an_end(case):
    """DNAMEs of our answer make each of its CNAMEs, and it ends after 16, or YXDOMAIN where they would make too long a name."""
    reply, name = ours(case), to_wire(case.query.labels).lower()
    dnames = [one for one in reply.answer if one.type == DNAME]
    for step in cnames(reply) + [None]:
        made = [(one.ttl, name[:-len(one.owner)] + one.data) for one in dnames if name.endswith(one.owner)]
        if step is None:
            too_long = bool(made) and len(made[0][1]) > 255
            return sixteen_steps(case) or too_long and reply.rcode == YXDOMAIN and not reply.authority
        if step.owner != name or (step.ttl, step.data) not in made:
            return False
        name = step.data


@predicate
def leaves_the_zone(case):
    """Our answer ends in a CNAME to a name of another zone or of none, NOERROR, without SOA."""
    steps = cnames(ours(case))
    if not steps or steps[-1] != ours(case).answer[-1] or ours(case).rcode or ours(case).authority or ours(case).tc:
        return False
    return zone_of(steps[-1].data, case) != zone_of(to_wire(case.query.labels).lower(), case)


@predicate
def ends_at_a_cut(case):
    """Our answer ends in a CNAME to a name at or below a cut of the zone asked, and AUTHORITY is all NS of that cut."""
    reply, steps = ours(case), cnames(ours(case))
    apex = zone_of(to_wire(case.query.labels).lower(), case)
    if not steps or steps[-1] != reply.answer[-1] or reply.rcode or reply.tc or not reply.authority:
        return False
    cut = reply.authority[0].owner
    servers = {one for one in case.hosted.get(apex, ()) if one.type == NS and one.owner == cut}
    return cut != apex and steps[-1].data.endswith(cut) and set(reply.authority) == servers


@predicate
def comes_to_the_apex(case):
    """Our answer ends in a CNAME to the apex of the zone asked, and AUTHORITY is the SOA of this zone."""
    apex, steps = zone_of(to_wire(case.query.labels).lower(), case), cnames(ours(case))
    owners = [(one.type, one.owner) for one in ours(case).authority]
    return owners == [(SOA, apex)] and bool(steps) and steps[-1] == ours(case).answer[-1] and steps[-1].data == apex


@predicate
def a_peer_has_the_chain(case):
    """A peer's answer begins with all of ours."""
    return bool([one for one in untruncated(case) if begins_like_ours(one, case)])


@predicate
def ends_in_a_ring(case):
    """The last CNAME leads to a name that the chain came from."""
    steps = cnames(ours(case))
    reply = ours(case)
    return bool(steps) and steps[-1].data in [one.owner for one in steps] and not reply.rcode and not reply.authority


@predicate
def over_the_limit(case):
    """Our reply is truncated, and the whole one is larger than the limit."""
    return ours(case).tc and whole(case).octets > limit(case.query)


@predicate
def referral(case):
    """Our whole reply is a referral, at once or at the end of a chain."""
    return bool([one for one in whole(case).authority if one.type == NS])


@predicate
def others_leave_glue_out(case):
    """Each peer without TC lacks in-domain glue that the whole referral has, or compresses it to fewer octets than we do."""
    all_glue = in_domain(whole(case))
    return all(one.tc or one.rcode or in_domain(one) < all_glue or one.octets < whole(case).octets for one in peers(case))


@predicate
def cut_short(case):
    """Our truncated answer is a part of the whole one; or all of it and its rcode, without the SOA of the whole one."""
    mine, all_of_it = ours(case), whole(case)
    lacks_soa = SOA in [one.type for one in all_of_it.authority] and not mine.authority
    if set(mine.answer) < set(all_of_it.answer):
        return mine.tc and mine.rcode in (0, all_of_it.rcode)
    return mine.tc and mine.answer == all_of_it.answer and mine.rcode == all_of_it.rcode and lacks_soa


@predicate
def fits(case):
    """Our reply is whole and within the limit, while a peer truncates, and a peer agrees over TCP or UDP."""
    return not ours(case).tc and True in [one.tc for one in peers(case)] and a_peer_agrees(case)


def written(record, records):
    """Whether a zone's records have this one, or a wildcard that makes it."""
    if record in records:
        return True
    above = record.owner
    while above != b"\0":
        above = above[1 + above[0]:]
        if record._replace(owner=b"\1*" + above) in records:
            return True
    return False


@predicate
def addresses_of_targets(case):
    """Our additional records are addresses from this zone of names that the rest points to; in-domain glue is all there."""
    reply = ours(case)
    records = case.hosted.get(zone_of(to_wire(case.query.labels).lower(), case), set())
    targets = {read_name(one.data, TARGETS[one.type])[0] for one in reply.answer + reply.authority if one.type in TARGETS}
    cuts = [one.owner for one in reply.authority if one.type == NS]
    glue = {one for one in records if one.type != NS and one.owner in targets
            and [cut for cut in cuts if one.owner.endswith(cut)]}
    mine = set(reply.additional)
    return all(written(one, records) and one.owner in targets for one in mine) and glue <= mine
