#!/usr/bin/env python3
"""Differential test: differ.py BINARY [--queries N] [--seed S] [--keep DIR]

Starts NSD, Knot, BIND and tenured with the same zones, asks all the same generated queries, and compares. A reply of tenured
that at least two peers do not give too needs an entry in explained.txt. From LONG queries on, an entry that nothing needed
fails as well. Needs Python 3.8 and the Debian packages nsd, knot, bind9 and bind9-utils.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import time

import explained
from asking import WINDOW
from compare import Case, differences, faults
from hosted import hosted
from message import show_reply, to_wire
from queries import generate as queries_about, show
from servers import NAMES, PEERS, Servers
from zones import generate as random_zones, referred

LONG = 200000
QUERIES_A_ZONE = 400
# Failures that are shown in full; all are counted.
MOST_SHOWN = 20


def ask(clients, queries, hosts):
    """Cases for queries of one transport, at most WINDOW of them; truncated ones are asked again over TCP."""
    sent = [(name, clients[name].send(queries)) for name in NAMES]
    replies = {name: clients[name].finish(one) for name, one in sent}
    cases = [Case(query, {name: replies[name][at] for name in NAMES}, None, hosts)
             for at, query in enumerate(queries)]
    cut = [at for at, case in enumerate(cases) if any(reply.tc for reply in case.replies.values())]
    if cut and not queries[0].tcp:
        for at, whole in zip(cut, ask(clients, [queries[at]._replace(tcp=True) for at in cut], hosts)):
            cases[at] = cases[at]._replace(whole=whole)
    return cases


class Judge:
    """Counts, and shows what fails."""

    def __init__(self, entries):
        self.entries, self.passed, self.failed, self.explained, self.shown = entries, 0, 0, 0, set()
        self.kinds = collections.Counter()
        self.disagree = 0

    def judge(self, case):
        found = differences(case)
        left = explained.unexplained(case, found, self.entries)
        wrong = faults(case) + sorted(left)
        self.explained += bool(found) and not left
        if not wrong:
            self.passed += 1
            return
        self.failed += 1
        self.kinds[" ".join(wrong)] += 1
        if self.failed > MOST_SHOWN:
            return
        print("\n-- differs: %s\nquery %s" % ("; ".join(wrong), show(case.query)))
        for name in NAMES:
            print("%s: %s" % (name, show_reply(case.replies[name])))
        if case.query.zone not in self.shown:
            self.shown.add(case.query.zone)
            print("zone:\n" + case.query.zone.text())
        else:
            print("zone: as above, apex", case.query.zone.apex)


def run(binary, count, seed, folder):
    began = time.monotonic()
    rng = random.Random(seed)
    zones = [(zone, zone.text(), zone.text()) for zone in random_zones(rng, max(20, count // QUERIES_A_ZONE))] + hosted()
    queries = queries_about([zone for zone, _, _ in zones], count, rng)
    judge = Judge(explained.read())
    with Servers(binary, folder, zones) as clients:
        print("differ: seed %d, %d zones, %d queries, all loaded after %.1f s" % (
            seed, len(zones), len(queries), time.monotonic() - began), flush=True)
        hosts = {to_wire(zone.apex).lower(): referred(zone) for zone, _, _ in zones}
        again = 0
        for tcp in (False, True):
            chosen = [query for query in queries if query.tcp == tcp]
            for start in range(0, len(chosen), WINDOW):
                for case in ask(clients, chosen[start:start + WINDOW], hosts):
                    judge.judge(case)
                    if case.whole:
                        again += 1
                        judge.judge(case.whole)
    for kind, number in judge.kinds.most_common(20):
        print("differ: %6d unexplained: %s" % (number, kind))
    print("differ: %d explained, %d asked again over TCP, %.1f s" % (judge.explained, again, time.monotonic() - began))
    for entry in judge.entries:
        if entry.used or count >= LONG:
            print("differ: %7d x explained.txt:%d %s" % (entry.used, entry.number, entry.line[:90]))
        if not entry.used and count >= LONG:
            judge.failed += 1
            print("differ: explained.txt:%d explains nothing" % entry.number)
    print("differ: %d passed, %d failed" % (judge.passed, judge.failed))
    return 1 if judge.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--queries", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for zones, configurations and logs; else a temporary one")
    options = parser.parse_args()
    # The servers end with this process, however it is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = options.keep or tempfile.mkdtemp(prefix="differ-")
    os.makedirs(folder, exist_ok=True)
    try:
        return run(options.binary, options.queries, options.seed, folder)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
