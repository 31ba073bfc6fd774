"""Reads `explained.txt` and says which differences between tenured and the peers it explains."""
import os
import re

from predicates import PREDICATES
from compare import PARTS

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "explained.txt")
RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/rfcs.md")


class Wrong(Exception):
    """The file does not have its form."""


class Entry:
    """A line: a rule, the parts it explains, the predicates that must all hold, and why ours is right."""

    def __init__(self, number, line):
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 4 or not fields[3].endswith("."):
            raise Wrong("explained.txt:%d: not `rule | parts | predicates | sentence.`" % number)
        self.number, self.line, self.used = number, line, 0
        self.rule, self.parts, self.names = fields[0], set(fields[1].split()), fields[2].split()
        for unknown in sorted(self.parts - set(PARTS)) + [name for name in self.names if name not in PREDICATES]:
            raise Wrong("explained.txt:%d: no part or predicate %s" % (number, unknown))
        if not self.parts or not self.names:
            raise Wrong("explained.txt:%d: an entry without part or predicate" % number)

    def holds(self, case):
        return all(PREDICATES[name](case) for name in self.names)


def read():
    """The entries; every rule must stand in docs/rfcs.md."""
    with open(RULES, encoding="utf-8") as file:
        rules = set(re.findall(r"^\| (\w+) \|", file.read(), re.M))
    entries = []
    with open(FILE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                entry = Entry(number, line.rstrip())
                if entry.rule not in rules:
                    raise Wrong("explained.txt:%d: docs/rfcs.md has no rule %s" % (number, entry.rule))
                entries.append(entry)
    return entries


def unexplained(case, found, entries):
    """The parts of `found` that no entry explains; entries that do are counted."""
    left = set(found)
    for entry in entries:
        if left & entry.parts and entry.holds(case):
            left -= entry.parts
            entry.used += 1
    return left
