#!/usr/bin/env python3
"""Import of a large zone file and start from the store: seconds to the first answer, processor time, memory.

usage: start.py [NAMES | ZONE_FILE] [ROUNDS]     default 1000000 names (1.3 million records), 3 rounds of the start
TENURED=path/to/binary, SERVER_CORE=0, BENCH_DIR=folder for the store
"""
import os, shutil, sys
from server import Folder, Server, write_zone

what = sys.argv[1] if len(sys.argv) > 1 else "1000000"
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
with Folder() as folder:
    zones = os.path.join(folder, "zones")
    os.mkdir(zones)
    file = os.path.join(zones, "bench.test.zone")
    write_zone(file, int(what)) if what.isdigit() else shutil.copy(what, file)
    server = Server(folder)

    def row(label, seconds):
        now, most = server.memory()
        size = os.path.getsize(server.database) >> 20
        print(f"{label:7} first_answer_s={seconds:6.2f} cpu_s={server.cpu():6.2f} resident_mb={now:5} peak_mb={most:5} store_mb={size}",
              flush=True)
        server.stop()

    row("import", server.start(zones))
    for _ in range(rounds):
        row("start", server.start())
