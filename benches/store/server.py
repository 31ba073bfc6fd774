"""A server to measure: started on one processor, asked over DNS and HTTP, looked at through /proc."""
import json, os, shutil, signal, socket, struct, subprocess, tempfile, time

BINARY = os.environ.get("TENURED", "target/release/tenured")
CORE = os.environ.get("SERVER_CORE", "0")


def write_zone(path, names):
    """A zone of `names` names below 997 empty non-terminals, about 1.3 records each. The same number, the same file."""
    with open(path, "w") as out:
        out.write("$ORIGIN bench.test.\n$TTL 300\n@ SOA ns1 hostmaster 1 3600 600 86400 60\n@ NS ns1\n@ NS ns2\n"
                  "ns1 A 192.0.2.1\nns2 A 192.0.2.2\n*.wild A 192.0.2.99\nsub NS ns.sub\nns.sub A 192.0.2.53\n")
        for i in range(names):
            name, kind = f"h{i}.s{i % 997}", i % 10
            if kind < 8:
                out.write(f"{name} A 10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}\n")
            if kind in (6, 7):
                out.write(f"{name} AAAA 2001:db8::{i & 0xffff:x}\n")
            if kind == 8:
                out.write(f"{name} CNAME h{i - 8}.s{(i - 8) % 997}\n")
            if kind == 9:
                out.write(f"{name} MX 10 h{i - 9}.s{(i - 9) % 997}\n{name} TXT \"token {i}\"\n")


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, folder):
        self.folder, self.process = folder, None
        self.database = os.path.join(folder, "store.db")

    def start(self, zones=None):
        """Starts it and waits for the first answer to h0.s0.bench.test A; gives back the seconds that took."""
        self.dns, self.http = free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_STREAM)
        command = ["taskset", "-c", CORE, BINARY, "serve", "--db", self.database, "--dns", f"127.0.0.1:{self.dns}",
                   "--http", f"127.0.0.1:{self.http}", "--udp-threads", "1"]
        if zones:
            command += ["--zones", zones]
        log = open(os.path.join(self.folder, "log"), "a")
        began = time.time()
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        while self.ask("h0.s0.bench.test") is None:
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended: {open(log.name).read()[-500:]}")
            time.sleep(0.005)
        return time.time() - began

    def ask(self, name):
        """The last four octets of the answer to a question for A, if there is an answer with a record."""
        question = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0\0\1\0\1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(0.5)
            try:
                one.connect(("127.0.0.1", self.dns))
                one.send(struct.pack(">6H", 7, 0, 1, 0, 0, 0) + question)
                reply = one.recv(4096)
            except OSError:
                return None
        return reply[-4:] if struct.unpack(">H", reply[6:8])[0] else None

    def token(self):
        return open(self.database + ".token").read().strip()

    def memory(self):
        """Resident memory now and at its highest, MB."""
        lines = dict(line.split(":", 1) for line in open(f"/proc/{self.process.pid}/status"))
        return tuple(int(lines[key].split()[0]) // 1024 for key in ("VmRSS", "VmHWM"))

    def cpu(self):
        """Seconds of processor time so far: steadier than the clock where a machine is shared."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


class Folder:
    """A folder that goes away at the end; BENCH_DIR says where it is made."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="store-bench-", dir=os.environ.get("BENCH_DIR"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
