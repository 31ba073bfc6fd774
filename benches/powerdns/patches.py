#!/usr/bin/env python3
"""PATCHes through the PowerDNS door beside Debian's pdns-server on SQLite: identical ones, and changes by 1 and 8 writers.

usage: patches.py [NO_OPS] [SECONDS]     default 50000 identical PATCHes, 5 seconds for each rate
TENURED=path/to/binary, SERVER_CORE=0, BENCH_DIR=folder for the stores

Both servers run on one core, in turn in the same run, with durable commits (WAL, synchronous=FULL), and are asked by the same client
over connections that stay open.
"""
import asyncio, json, os, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, time

NO_OPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5
BINARY = os.path.realpath(os.environ.get("TENURED", "target/release/tenured"))
CORE = os.environ.get("SERVER_CORE", "0")
KEY = "bench-key-for-both"
SCHEMA = "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql"
ZONE = "/api/v1/servers/localhost/zones/bench.test."
NAMES = 500


def free():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, name, folder):
        self.name, self.folder, self.http = name, folder, free()
        log = open(os.path.join(folder, "log"), "w")
        self.process = subprocess.Popen(["taskset", "-c", CORE, *self.command()], cwd=folder, stdout=log, stderr=log)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.http), 1).close()
                break
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit(f"{name} ended: {open(log.name).read()[-500:]}")
                time.sleep(0.05)

    def cpu(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


class Tenured(Server):
    def command(self):
        return [BINARY, "serve", "--dns", f"127.0.0.1:{free()}", "--http", f"127.0.0.1:{self.http}", "--udp-threads", "1"]

    def prepare(self):
        path = os.path.join(self.folder, "key")
        with open(path, "w") as file:
            file.write(KEY)
        command = [BINARY, "token", "create", "bench", "--door", "powerdns", "--secret-file", path]
        environment = dict(os.environ, TENURED_URL=f"http://127.0.0.1:{self.http}")
        subprocess.run(command, cwd=self.folder, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class PowerDns(Server):
    def command(self):
        database = os.path.join(self.folder, "pdns.db")
        with sqlite3.connect(database) as connection, open(SCHEMA) as schema:
            connection.executescript(schema.read())
            connection.execute("PRAGMA journal_mode=WAL")
        settings = {
            "launch": "gsqlite3", "gsqlite3-database": database, "gsqlite3-pragma-synchronous": "2", "local-address": "127.0.0.1",
            "local-port": free(), "api": "yes", "api-key": KEY, "webserver": "yes", "webserver-address": "127.0.0.1",
            "webserver-port": self.http, "webserver-allow-from": "127.0.0.1", "webserver-loglevel": "none", "socket-dir": self.folder,
            "guardian": "no", "daemon": "no",
        }
        with open(os.path.join(self.folder, "pdns.conf"), "w") as file:
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        return ["/usr/sbin/pdns_server", f"--config-dir={self.folder}"]

    def prepare(self):
        pass


class Connection:
    """One that stays open, and is opened again where a server closes it."""

    def __init__(self, port):
        self.port, self.streams = port, None

    async def ask(self, method, path, body):
        payload = json.dumps(body).encode() if body is not None else b""
        head = (f"{method} {path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {KEY}\r\nAccept: application/json\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n")
        for attempt in (1, 2):
            if self.streams is None:
                self.streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self.streams
            try:
                writer.write(head.encode() + payload)
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
                length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
                text = await reader.readexactly(length)
            except (OSError, asyncio.IncompleteReadError):
                writer.close()
                self.streams = None
                if attempt == 2:
                    return 599, b""
                continue
            if "connection: close" in lines:
                writer.close()
                self.streams = None
            return int(lines[0].split()[1]), text


def rrset(name, number):
    record = {"content": f"198.51.{number >> 8 & 255}.{number & 255}", "disabled": False}
    return {"rrsets": [{"name": name, "type": "A", "ttl": 60, "changetype": "REPLACE", "records": [record]}]}


async def serial(server):
    _, text = await Connection(server.http).ask("GET", ZONE + "?rrsets=false", None)
    return json.loads(text)["serial"]


async def prepare(server):
    server.prepare()
    connection = Connection(server.http)
    body = {"name": "bench.test.", "kind": "Native", "nameservers": ["ns1.bench.test."], "soa_edit_api": "DEFAULT"}
    status, text = await connection.ask("POST", "/api/v1/servers/localhost/zones", body)
    assert status == 201, (status, text)
    for number in range(NAMES):
        status, text = await connection.ask("PATCH", ZONE, rrset(f"n{number}.bench.test.", 1))
        assert status == 204, (status, text)


async def no_ops(server, count):
    connection, failed, before = Connection(server.http), 0, await serial(server)
    began, cpu = time.time(), server.cpu()
    for number in range(count):
        status, _ = await connection.ask("PATCH", ZONE, rrset(f"n{number % NAMES}.bench.test.", 1))
        failed += status != 204
    seconds, cpu = time.time() - began, server.cpu() - cpu
    after = await serial(server)
    print(f"{server.name:12} identical={count:<6} per_s={count / seconds:7.0f} cpu_us={cpu / count * 1e6:5.0f} failed={failed} "
          f"serial_moved_by={after - before}", flush=True)


async def changes(server, writers):
    end, done, failed, statuses = time.time() + SECONDS, 0, 0, {}

    async def one(writer):
        nonlocal done, failed
        connection, number = Connection(server.http), 0
        while time.time() < end:
            number += 1
            status, _ = await connection.ask("PATCH", ZONE, rrset(f"w{writer}-{number % 100}.bench.test.", number))
            done += 1
            if status != 204:
                failed += 1
                statuses[status] = statuses.get(status, 0) + 1

    began, cpu = time.time(), server.cpu()
    await asyncio.gather(*(one(writer) for writer in range(writers)))
    seconds, cpu = time.time() - began, server.cpu() - cpu
    print(f"{server.name:12} writers={writers:<3} changes_per_s={(done - failed) / seconds:7.0f} cpu_us={cpu / done * 1e6:5.0f} "
          f"failed={failed} of {done} {statuses or ''}", flush=True)


async def main():
    for make, count in ((Tenured, NO_OPS), (PowerDns, min(NO_OPS, 2_000))):
        folder = tempfile.mkdtemp(dir=os.environ.get("BENCH_DIR"))
        server = make(make.__name__.lower(), folder)
        try:
            await prepare(server)
            await no_ops(server, count)
            for writers in (1, 8):
                await changes(server, writers)
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)


asyncio.run(main())
