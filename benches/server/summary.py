#!/usr/bin/env python3
"""Reads what `run` measured, one line per server and round, and prints a table of medians in Markdown.

usage: summary.py RESULTS [VERSIONS]

RESULTS has these columns, between tabs: server, seconds to the first answer, answered, lost, queries per second,
CPU µs per query, memory in MiB. VERSIONS has a server and its version.
"""

import statistics
import sys


def main():
    rounds, versions = {}, {}
    for path, into in ((sys.argv[1], rounds), *((path, versions) for path in sys.argv[2:3])):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                server, *values = line.rstrip("\n").split("\t")
                into.setdefault(server, []).append(values)
    print("| server | queries/s | CPU µs/query (min to max) | lost | memory MiB | start to first answer s | rounds |")
    print("|---|---|---|---|---|---|---|")
    for server, rows in rounds.items():
        start, _, lost, rate, cpu, memory = (sorted(map(float, column)) for column in zip(*rows))
        version = versions.get(server, [[""]])[0][0]
        print(
            f"| {server} {version} | {statistics.median(rate):,.0f} "
            f"| {statistics.median(cpu):.2f} ({cpu[0]:.2f} to {cpu[-1]:.2f}) | {sum(lost):.0f} "
            f"| {statistics.median(memory):.0f} | {statistics.median(start):.2f} | {len(rows)} |"
        )


main()
