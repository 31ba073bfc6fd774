"""The four servers as processes on loopback with ports from the kernel, each with the same zones."""
import os
import shutil
import signal
import socket
import subprocess
import time

from asking import Client, Unanswered
from message import name_text
from queries import Query

PEERS = ["nsd", "knot", "bind"]
NAMES = ["tenured"] + PEERS
START_SECONDS = 60


class Failed(Exception):
    """A server did not start or did not load a zone."""


def program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin")
    if not found:
        raise Failed("%s is not installed (Debian: nsd knot bind9)" % name)
    return found


def free_port():
    """A port that is free for UDP and TCP."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind(("127.0.0.1", 0))
            try:
                tcp.bind(udp.getsockname())
            except OSError:
                continue
            return udp.getsockname()[1]


def nsd(folder, port, zones):
    paths = {key: os.path.join(folder, key) for key in ("pid", "xfrd", "list", "log")}
    yield "nsd.conf", """server:
  server-count: 1
  ip-address: 127.0.0.1@%d
  username: ""
  chroot: ""
  zonesdir: "%s"
  pidfile: "%s"
  xfrdfile: "%s"
  zonelistfile: "%s"
  xfrdir: "%s"
  database: ""
  rrl-ratelimit: 0
  refuse-any: no
  hide-version: yes
remote-control:
  control-enable: no
""" % (port, folder, paths["pid"], paths["xfrd"], paths["list"], folder) + "".join(
        'zone:\n  name: "%s"\n  zonefile: "%s"\n' % zone for zone in zones)
    yield [program("nsd"), "-d", "-c", os.path.join(folder, "nsd.conf")]


def knot(folder, port, zones):
    yield "knot.conf", """server:
  rundir: "%s"
  listen: 127.0.0.1@%d
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
  automatic-acl: off
database:
  storage: "%s"
log:
  - target: stderr
    any: warning
template:
  - id: default
    storage: "%s"
    zonefile-sync: -1
    journal-content: none
    semantic-checks: off
zone:
""" % (folder, port, folder, folder) + "".join('  - domain: "%s"\n    file: "%s"\n' % zone for zone in zones)
    yield [program("knotd"), "-c", os.path.join(folder, "knot.conf")]


def bind(folder, port, zones):
    yield "named.conf", """options {
  directory "%s"; pid-file "%s/pid"; session-keyfile "%s/key"; managed-keys-directory "%s";
  listen-on port %d { 127.0.0.1; }; listen-on-v6 { none; };
  recursion no; notify no; allow-transfer { none; }; dnssec-validation no;
  minimal-responses no-auth; minimal-any no; max-udp-size 1232; edns-udp-size 1232;
  check-integrity no; check-names primary ignore; check-mx ignore; check-wildcard no; zone-statistics none;
  max-records-per-type 0; max-types-per-name 0;
};
controls {};
""" % (folder, folder, folder, folder, port) + "".join(
        'zone "%s" { type primary; file "%s"; };\n' % zone for zone in zones)
    yield [program("named"), "-g", "-n", "1", "-c", os.path.join(folder, "named.conf")]


CONFIGURATIONS = {"nsd": nsd, "knot": knot, "bind": bind}


class Servers:
    """Starts all, and ends all on leaving."""

    def __init__(self, binary, folder, zones):
        """`zones` is a list of (Zone, text for tenured, text for the peers)."""
        self.binary, self.folder, self.zones = os.path.abspath(binary), folder, zones
        self.processes, self.clients = {}, {}

    def __enter__(self):
        try:
            for name in NAMES:
                self.start(name)
            for name in NAMES:
                self.wait_for_zones(name)
        except BaseException:
            self.__exit__()
            raise
        return self.clients

    def start(self, name):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        port = free_port()
        files = [(name_text(zone.apex).rstrip("."), own if name == "tenured" else theirs)
                 for zone, own, theirs in self.zones]
        place = os.path.join(folder, "zones") if name == "tenured" else folder
        os.makedirs(place, exist_ok=True)
        for origin, text in files:
            with open(os.path.join(place, origin + ".zone"), "w") as file:
                file.write(text)
        if name == "tenured":
            command = [self.binary, "serve", "--db", os.path.join(folder, "store.db"), "--zones", place,
                       "--dns", "127.0.0.1:%d" % port, "--http", "127.0.0.1:%d" % free_port()]
        else:
            listed = [(origin, origin + ".zone") for origin, _ in files]
            (file_name, text), command = CONFIGURATIONS[name](folder, port, listed)
            with open(os.path.join(folder, file_name), "w") as file:
                file.write(text)
        with open(os.path.join(folder, "log"), "wb") as log:
            # A session of its own: NSD forks, and its children end with it.
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                    cwd=folder, start_new_session=True)
        self.clients[name] = Client(name, port)

    def wait_for_zones(self, name):
        """Asks each zone's SOA until it is there; a zone that a server refuses ends the run."""
        client, end = self.clients[name], time.monotonic() + START_SECONDS
        waiting = [Query(zone.apex, 6, None, 0, False, zone) for zone, _, _ in self.zones]
        while waiting:
            try:
                replies = client.ask(waiting, seconds=0.5)
                waiting = [query for query, reply in zip(waiting, replies) if reply.rcode or not reply.aa]
            except Unanswered:
                pass
            ended = self.processes[name].poll() is not None
            if waiting and (ended or time.monotonic() > end):
                with open(os.path.join(self.folder, name, "log"), errors="replace") as log:
                    print("".join(log.readlines()[-30:]))
                raise Failed("%s %s; without answer: %s" % (
                    name, "ended" if ended else "did not load all zones",
                    " ".join(name_text(query.zone.apex) for query in waiting[:10])))
            if waiting:
                time.sleep(0.1)

    def __exit__(self, *_):
        for client in self.clients.values():
            client.close()
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
