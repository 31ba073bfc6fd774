"""The repository's `zones/` as Zones, and as text that the peers can load.

NSD and Knot know no $GENERATE, and no peer knows ALIAS or names in other scripts: ALIAS becomes the addresses of its target,
other letters become A-labels, and BIND's named-compilezone, which reads zone files on its own, writes the rest a record a line.
"""
import os
import re
import subprocess
import tempfile

from message import read_text
from servers import program
from zones import Zone

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../zones")


def a_label(match):
    word = match.group(0)
    return ".".join("xn--" + label.encode("punycode").decode() if not label.isascii() else label
                    for label in word.split("."))


def without_other_letters(line):
    """Names of a line as A-labels; comments go, texts stay."""
    parts = re.split(r'("[^"]*")', line.split(";")[0] if '"' not in line else line)
    return "".join(part if part.startswith('"') else re.sub(r"[^\s()]*[^\x00-\x7f][^\s()]*", a_label, part.split(";")[0])
                   for part in parts).rstrip("\n") + "\n"


def without_alias(lines):
    """Each ALIAS replaced by the addresses of its target, which stands in the same file."""
    for line in lines:
        match = re.match(r"(\S+)\s+(\d+)\s+ALIAS\s+(\S+)", line)
        if not match:
            yield line
            continue
        owner, ttl, target = match.groups()
        for other in lines:
            address = re.match(re.escape(target) + r"\s+(\d+)\s+(A|AAAA)\s+(\S+)", other)
            if address:
                yield "%s %d %s %s\n" % (owner, min(int(ttl), int(address.group(1))), address.group(2), address.group(3))


def hosted():
    """A list of (Zone, own text, text for the peers)."""
    found = []
    for name in sorted(os.listdir(FOLDER)):
        if not name.endswith(".zone"):
            continue
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            own = file.read()
        lines = [without_other_letters(line) for line in own.splitlines()]
        with tempfile.NamedTemporaryFile("w", suffix=".zone", encoding="utf-8") as plain:
            plain.write("".join(without_alias(lines)))
            plain.flush()
            theirs = subprocess.run(
                [program("named-compilezone"), "-q", "-i", "none", "-k", "ignore", "-s", "full", "-o", "-",
                 name[:-len(".zone")], plain.name], check=True, stdout=subprocess.PIPE).stdout.decode("latin-1")
        zone = Zone(read_text(name[:-len(".zone")]))
        for line in theirs.splitlines():
            fields = line.split(None, 4)
            if len(fields) == 5:
                zone.add(read_text(fields[0]), fields[3], int(fields[1]), fields[4])
        found.append((zone, own, theirs))
    return found
