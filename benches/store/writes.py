#!/usr/bin/env python3
"""Writes over HTTP: one record changed in a small and a large zone, 1 and 64 writers, and one owner's large apply.

usage: writes.py [NAMES] [SECONDS]     default 1000000 names in the large zone, 5 seconds for each rate
TENURED=path/to/binary, SERVER_CORE=0, BENCH_DIR=folder for the store
"""
import asyncio, json, os, sys, time
from server import Folder, Server, write_zone

NAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5


async def request(streams, token, method, path, body):
    reader, writer = streams
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
    return int(lines[0].split()[1]), await reader.readexactly(length)


def record(number):
    address = f"198.51.{number >> 8 & 255}.{number & 255}"
    return json.dumps({"ttl": 60, "values": [address]}).encode(), bytes(int(part) for part in address.split("."))


async def latency(server, label, count=400):
    """Request sent to answer changed, one after the other; the DNS question follows the response at once."""
    streams, token, times, late = await asyncio.open_connection("127.0.0.1", server.http), server.token(), [], 0
    for number in range(count):
        body, wanted = record(number + 1)
        began = time.perf_counter()
        status, text = await request(streams, token, "PUT", "/v1/owners/bench/records/probe.bench.test./A", body)
        times.append(time.perf_counter() - began)
        assert status in (200, 201), (status, text)
        late += server.ask("probe.bench.test") != wanted
    times.sort()
    print(f"{label:12} change_p50_ms={times[count // 2] * 1e3:6.2f} p99_ms={times[count * 99 // 100] * 1e3:6.2f} not_served_at_once={late}", flush=True)


async def rate(server, writers):
    token, end, done, failed = server.token(), time.time() + SECONDS, 0, 0

    async def one(writer):
        nonlocal done, failed
        streams, number = await asyncio.open_connection("127.0.0.1", server.http), 0
        while time.time() < end:
            number += 1
            body, _ = record(number)
            path = f"/v1/owners/bench/records/w{writer}-{number % 500}.bench.test./A"
            status, _ = await request(streams, token, "PUT", path, body)
            done, failed = done + 1, failed + (status not in (200, 201))

    began, cpu = time.time(), server.cpu()
    await asyncio.gather(*(one(writer) for writer in range(writers)))
    seconds = time.time() - began
    print(f"writers={writers:<3} writes_per_s={done / seconds:8.0f} failed={failed} server_cpu_us_per_write={(server.cpu() - cpu) / done * 1e6:.0f}", flush=True)


async def apply(server, records=100_000, part=100_000):
    streams, token = await asyncio.open_connection("127.0.0.1", server.http, limit=1 << 26), server.token()
    for label, octet in (("new", 1), ("same", 1), ("changed", 2)):
        rows = [{"name": f"a{i}.apply.bench.test.", "type": "A", "ttl": 60, "values": [f"10.{octet}.{i >> 8 & 255}.{i & 255}"]}
                for i in range(records)]
        body = json.dumps({"records": rows}).encode()
        began, cpu = time.time(), server.cpu()
        status, text = await request(streams, token, "PUT", "/v1/owners/many/records", body)
        seconds = time.time() - began
        print(f"apply {label:8} status={status} records_per_s={records / seconds:8.0f} s={seconds:.2f} cpu_s={server.cpu() - cpu:.2f}"
              + ("" if status < 300 else text[:200].decode()), flush=True)


def run(names, *work):
    with Folder() as folder:
        zones = os.path.join(folder, "zones")
        os.mkdir(zones)
        write_zone(os.path.join(zones, "bench.test.zone"), names)
        server = Server(folder)
        server.start(zones)
        try:
            for one in work:
                asyncio.run(one(server))
        finally:
            server.stop()


run(1_000, lambda server: latency(server, "1000 names"))
run(NAMES, lambda server: latency(server, f"{NAMES} names"), lambda server: rate(server, 1),
    lambda server: rate(server, 64), apply)
