"""Asks one server many queries at once, over UDP and TCP, and matches replies to queries by ID."""
import socket
import struct
import time

from message import Malformed, read_reply
from queries import octets

# Queries under way at once: less than any server takes from one client, and what a socket's buffer holds.
WINDOW = 64
TRIES = 6


class Unanswered(Exception):
    """No reply to a query, after all tries."""


class Client:
    """A socket for UDP and a connection for TCP to one server."""

    def __init__(self, name, port):
        self.name, self.address = name, ("127.0.0.1", port)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.udp.connect(self.address)
        self.tcp, self.next = None, 1

    def close(self):
        self.udp.close()
        self.hang_up()

    def hang_up(self):
        if self.tcp:
            self.tcp.close()
        self.tcp = None

    def ask(self, queries, seconds=2.0):
        """The replies to queries of one transport, in their order."""
        replies = []
        for start in range(0, len(queries), WINDOW):
            replies += self.finish(self.send(queries[start:start + WINDOW]), seconds)
        return replies

    def send(self, queries):
        """Sends at most WINDOW queries; `finish` collects the replies."""
        self.next = self.next + 7919 & 0xFFFF
        waiting = {self.next + n & 0xFFFF: query for n, query in enumerate(queries)}
        order = list(waiting)
        self.write(waiting)
        return order, waiting, {}

    def write(self, waiting):
        messages = [octets(query, ident) for ident, query in waiting.items()]
        if not messages:
            return
        try:
            if next(iter(waiting.values())).tcp:
                if not self.tcp:
                    self.tcp = socket.create_connection(self.address, 5)
                self.tcp.sendall(b"".join(struct.pack("!H", len(one)) + one for one in messages))
            else:
                for one in messages:
                    self.udp.send(one)
        except OSError:
            # The server is not there yet, or closed an idle connection; it is tried again.
            self.hang_up()

    def finish(self, sent, seconds=2.0):
        order, waiting, replies = sent
        for attempt in range(TRIES):
            if attempt:
                self.hang_up()
                self.write(waiting)
            tcp = bool(waiting) and next(iter(waiting.values())).tcp
            for message in self.messages(tcp, len(waiting), time.monotonic() + seconds):
                ident = struct.unpack_from("!H", message)[0] if len(message) > 1 else None
                if ident in waiting:
                    try:
                        replies[ident] = read_reply(message)
                    except Malformed as error:
                        raise Malformed("%s: %s: %s" % (self.name, error, message.hex()))
                    del waiting[ident]
                    if not waiting:
                        break
            if not waiting:
                return [replies[ident] for ident in order]
        raise Unanswered("%s does not answer %r" % (self.name, next(iter(waiting.values()))[:5]))

    def messages(self, tcp, count, end):
        """Messages as they come, until the time `end` or the end of the connection."""
        connection = self.tcp if tcp else self.udp
        if not connection or not count:
            return
        buffer = b""
        while time.monotonic() < end:
            connection.settimeout(max(0.001, end - time.monotonic()))
            try:
                data = connection.recv(65536)
            except OSError:
                if not tcp and time.monotonic() < end:
                    # Nobody listens yet: ICMP says so at once.
                    time.sleep(0.01)
                    continue
                return
            if not tcp:
                yield data
                continue
            if not data:
                return
            buffer += data
            while len(buffer) >= 2:
                length = struct.unpack_from("!H", buffer)[0]
                if len(buffer) < length + 2:
                    break
                yield buffer[2:length + 2]
                buffer = buffer[length + 2:]
