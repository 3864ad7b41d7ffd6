"""Publishes with the reference's C library and Java and writes down the datagrams. Run by scripts/record-golden, in a
network namespace of its own."""

import os
import socket
import struct
import subprocess
import sys

import lcm

GROUP, PORT = "239.255.76.67", 7667
URL = f"udpm://{GROUP}:{PORT}?ttl=0"

# Channels and sizes. The sizes lie about the borders between one, two and three datagrams.
LIBLCM = [("a", 0), ("golden.short", 5), ("c" * 63, 17), ("edge", 65494), ("edge", 65495), ("edge", 130969),
          ("edge", 130970), ("golden.image", 200_000)]
# Java leaves the last byte out when channel and message are a multiple of 64,000 bytes.
JAVA = [("golden.short", 5), ("golden.image", 63_987), ("golden.image", 63_988), ("golden.image", 100_000),
        ("golden.image", 127_987), ("golden.image", 127_988), ("golden.image", 127_989)]


def payload(size):
    return bytes((i * 31 + i // 251) & 0xFF for i in range(size))


def listen():
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    receiver.bind((GROUP, PORT))
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                        struct.pack("4s4s", socket.inet_aton(GROUP), socket.inet_aton("127.0.0.1")))
    receiver.settimeout(10)
    return receiver


def receive(receiver):
    """One message: a datagram, or as many as the first declares."""
    datagrams = [receiver.recv(65536)]
    if datagrams[0].startswith(b"LC03"):
        count = struct.unpack(">H", datagrams[0][18:20])[0]
        datagrams += [receiver.recv(65536) for _ in range(count - 1)]
    return datagrams


def row(publisher, channel, size, datagrams):
    """What the payload does not determine: headers, lengths and the last bytes."""
    lines = ["", "[[message]]", f'publisher = "{publisher}"', f'channel = "{channel}"', f"size = {size}", "datagrams = ["]
    for datagram in datagrams:
        lines.append(f'  {{ length = {len(datagram)}, head = "{datagram[:96].hex()}", tail = "{datagram[-8:].hex()}" }},')
    return lines + ["]"]


def main(path, jar):
    rows = ["# Recorded from the lcm 1.5.3 wheel by scripts/record-golden. Do not edit.",
            "# Byte i of a message is i * 31 + i / 251. The first 96 and the last 8 bytes of each datagram are kept."]
    receiver = listen()
    publisher = lcm.LCM(URL)
    for channel, size in LIBLCM:
        publisher.publish(channel, payload(size))
        rows += row("liblcm", channel, size, receive(receiver))
    here = os.path.dirname(os.path.abspath(__file__))
    for channel, size in JAVA:
        # One process a message: the system buffers only a few datagrams of this size.
        subprocess.run(["java", "-Djava.net.preferIPv4Stack=true", "-cp", jar, os.path.join(here, "Publish.java"), URL,
                        channel, str(size)], check=True, stdout=subprocess.DEVNULL)
        rows += row("lcm.jar", channel, size, receive(receiver))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")


main(*sys.argv[1:])
