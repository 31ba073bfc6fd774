#!/usr/bin/env python3
"""Writes the zone and the questions of a whole-server run.

usage: zone.py FOLDER GROUPS

FOLDER/bench.example.zone has GROUPS groups of ten names and thirteen records; FOLDER/questions is for dnsperf: of a
hundred questions 85 are for names that are there, 8 for names that are not, 4 meet the wildcard, 3 a zone cut. The same
GROUPS gives the same files.
"""

import random
import sys

QUESTIONS = 400_000
APEX = """$ORIGIN bench.example.
$TTL 300
@ SOA ns1 hostmaster 1 3600 600 86400 60
@ NS ns1
@ NS ns2
ns1 A 192.0.2.1
ns2 A 192.0.2.2
*.wild A 192.0.2.99
sub NS ns.sub
ns.sub A 192.0.2.53
"""
# What is asked for the name of this number within its group.
ASKED = ["A", "A", "A", "A", "A", "A", "AAAA", "AAAA", "A", None]


def records(group):
    """The lines of one group: eight hosts, two of them with AAAA too, an alias by CNAME, and a mail domain."""
    network = f"10.{group >> 8 & 255}.{group & 255}"
    for number in range(8):
        yield f"n{number}.g{group} A {network}.{number}"
    for number in (6, 7):
        yield f"n{number}.g{group} AAAA 2001:db8::{group & 0xffff:x}:{number}"
    yield f"n8.g{group} CNAME n0.g{group}"
    yield f"n9.g{group} MX 10 n6.g{group}"
    yield f'n9.g{group} TXT "group {group} of the bench"'


def question(chance, groups):
    """One line for dnsperf."""
    kind = chance.random()
    if kind < 0.85:
        group, number = chance.randrange(groups), chance.randrange(10)
        rtype = ASKED[number] or ("MX" if group % 2 else "TXT")
        return f"n{number}.g{group}.bench.example. {rtype}"
    if kind < 0.93:
        return f"nosuch{chance.randrange(10**9)}.bench.example. A"
    if kind < 0.97:
        return f"x{chance.randrange(10**9)}.wild.bench.example. A"
    return f"x{chance.randrange(10**6)}.sub.bench.example. A"


def main():
    folder, groups = sys.argv[1], int(sys.argv[2])
    with open(f"{folder}/bench.example.zone", "w", encoding="ascii") as zone:
        zone.write(APEX)
        for group in range(groups):
            zone.write("\n".join(records(group)) + "\n")
    chance = random.Random(1)
    with open(f"{folder}/questions", "w", encoding="ascii") as questions:
        for _ in range(QUESTIONS):
            questions.write(question(chance, groups) + "\n")


main()
