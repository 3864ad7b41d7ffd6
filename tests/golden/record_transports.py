"""Writes down what the real LCM writes to logs and sockets. Run by scripts/record-golden in a network of its own.

Usage: record_transports.py LCM_JAR OUTPUT
"""

import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading

import lcm

GROUP = "239.255.76.67"
BASE_PORT = 20000
TIMEOUT_S = 30.0

EVENTS = [(1700000000000000, "POSE", b"\x01\x02\x03"), (1700000000000001, "E", b""),
          (-1, "d\u00e9pth.m", bytes.fromhex("eda1da01")), (0, "vehicle.pose", b"\xff")]

CHANNELS = ["POSE", "A", "Z", "IMAGE", "vehicle.pose", "operator.task", "d\u00e9pth", "\u6f22", "x" * 63, "LCM_SELF_TEST", "a b"]

PATTERNS = [".*", "POSE", ".A", "^A", "A^", "A$", "A\\.B", "\\.A", "[AB]", "A[B]", "(A)", "A|B", "A{2}", "A}", "A]", "A+B",
            "A?", "a.b", "$", "\u00e9.", "\\d", "\\\\.", "-\\-", "\\+\\+"]


def log():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/log"
        writer = lcm.EventLog(path, "w")
        for utime, channel, payload in EVENTS:
            writer.write_event(utime, channel, payload)
        writer.close()
        return pathlib.Path(path).read_bytes()


class Tap:
    """Stands between a client and the hub and writes down what each sends."""

    def __init__(self, hub_port):
        self.said = {"client": b"", "hub": b""}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.changed = threading.Condition()
        threading.Thread(target=self.accept, args=(hub_port,), daemon=True).start()

    def accept(self, hub_port):
        client, _ = self.listener.accept()
        hub = socket.create_connection(("127.0.0.1", hub_port))
        threading.Thread(target=self.pump, args=(client, hub, "client"), daemon=True).start()
        self.pump(hub, client, "hub")

    def pump(self, source, sink, name):
        try:
            while data := source.recv(65536):
                with self.changed:
                    self.said[name] += data
                    self.changed.notify_all()
                sink.sendall(data)
        except ConnectionResetError:
            pass  # the hub was ended

    def wait(self, name, n_bytes):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.said[name]) >= n_bytes, TIMEOUT_S), self.said


def tcpq(jar):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    hub = subprocess.Popen(["java", "-cp", jar, "lcm.lcm.TCPService", str(port)], stdout=subprocess.PIPE)
    try:
        # It prints its first line a second after it began to listen.
        hub.stdout.readline()
        tap = Tap(port)
        client = lcm.LCM(f"tcpq://127.0.0.1:{tap.port}")
        tap.wait("hub", 8)
        subscription = client.subscribe("PO.*", lambda channel, payload: None)
        client.publish("E", b"")
        client.publish("POSE", b"\x01\x02\x03")
        tap.wait("hub", 8 + 4 + 4 + 4 + 4 + 3)
        client.unsubscribe(subscription)
        tap.wait("client", 8 + 12 + 13 + 19 + 12)
        return tap.said
    finally:
        hub.terminate()
        hub.wait()


class Wire:
    """Everything that is sent to the group, in order."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.socket.bind(("lo", 0))
        self.socket.settimeout(TIMEOUT_S)

    def next(self):
        while True:
            packet, address = self.socket.recvfrom(65536)
            header_len = (packet[14] & 15) * 4
            if address[2] != socket.PACKET_OUTGOING and packet[14 + 9] == socket.IPPROTO_UDP:
                udp = packet[14 + header_len:]
                channel, payload = udp[16:].split(b"\0", 1)
                return struct.unpack(">H", udp[2:4])[0], channel.decode(), payload

    def until(self, channel):
        while True:
            port, found, payload = self.next()
            if found == channel:
                return port, payload


def mpudpm():
    wire = Wire()
    ports = {}
    for n_ports in [500, 7]:
        publisher = lcm.LCM(f"mpudpm://{GROUP}:{BASE_PORT}?ttl=0&nports={n_ports}")
        for channel in CHANNELS:
            publisher.publish(channel, b"")
            ports[n_ports, channel] = wire.until(channel)[0] - BASE_PORT
    # A regular expression makes it ask for channels, a name makes it announce one more.
    are_regex = {}
    for i, pattern in enumerate(PATTERNS):
        client = lcm.LCM(f"mpudpm://{GROUP}:{BASE_PORT + 1000 + i}?ttl=0")
        client.publish("SEED", b"")
        wire.until("SEED")
        client.subscribe(pattern, lambda channel, payload: None)
        are_regex[pattern] = wire.next()[1] == "#!mpudpm_CH2PRT_REQ"
        client.publish("DONE", b"")
        wire.until("DONE")
    told = lcm.LCM(f"mpudpm://{GROUP}:{BASE_PORT + 2000}?ttl=0")
    told.publish("POSE", b"")
    update_port, update = wire.until("#!mpudpm_CH2PRT_UPD")
    told.subscribe("P.*", lambda channel, payload: None)
    request_port, request = wire.until("#!mpudpm_CH2PRT_REQ")
    assert update_port == request_port == BASE_PORT + 2000
    return ports, are_regex, update, request


def quoted(text):
    assert "'" not in text
    return f"'{text}'"


def main():
    jar, output = sys.argv[1:]
    said = tcpq(jar)
    ports, are_regex, update, request = mpudpm()
    with open(output, "w", encoding="utf-8") as out:
        out.write("# Recorded from the reference by scripts/record-golden.\n\n")
        out.write(f"log = \"{log().hex()}\"\n")
        out.write(f"tcpq_client = \"{said['client'].hex()}\"\n")
        out.write(f"tcpq_hub = \"{said['hub'].hex()}\"\n")
        out.write("# One channel, POSE, and the base port 22000.\n")
        out.write(f"mpudpm_update = \"{update.hex()}\"\n")
        out.write(f"mpudpm_request = \"{request.hex()}\"\n")
        for utime, channel, payload in EVENTS:
            out.write(f"\n[[event]]\nutime = {utime}\nchannel = {quoted(channel)}\npayload = \"{payload.hex()}\"\n")
        for (n_ports, channel), index in ports.items():
            out.write(f"\n[[port]]\nchannel = {quoted(channel)}\nn_ports = {n_ports}\nindex = {index}\n")
        for pattern, is_regex in are_regex.items():
            out.write(f"\n[[pattern]]\npattern = {quoted(pattern)}\nis_regex = {str(is_regex).lower()}\n")


main()
