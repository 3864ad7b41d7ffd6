"""One end of a bus, on the reference's Python.

The verbs and lines that all ends share are described in tests/src/bus_peers.rs.
"""

import select
import struct
import sys
import time
import zlib

import lcm

# As in tests/src/content.rs.
PERIOD_WORDS = 65521
MASK = (1 << 64) - 1


def content(seed, index, size):
    x = (seed + index * 0x9E3779B97F4A7C15) & MASK or 0x9E3779B97F4A7C15
    words = []
    for _ in range(min((size + 7) // 8, PERIOD_WORDS)):
        x ^= x >> 12
        x ^= (x << 25) & MASK
        x ^= x >> 27
        words.append((x * 0x2545F4914F6CDD1D) & MASK)
    period = struct.pack("<%dQ" % len(words), *words)
    return (period * (size // len(period) + 1))[:size] if period else b""


class Tally:
    n_messages = 0
    n_bytes = 0

    def add(self, data):
        self.n_messages += 1
        self.n_bytes += len(data)


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def handle(bus, pattern, handler, tally, count):
    """Handles messages until there were `count` (0: for ever), or stdin is closed."""
    # A full queue drops messages; what is tested is the wire.
    bus.subscribe(pattern, handler).set_queue_capacity(0)
    fd = bus.fileno()
    say("ready")
    while count == 0 or tally.n_messages < count:
        readable, _, _ = select.select([fd, 0], [], [])
        if fd in readable:
            bus.handle()
        elif not sys.stdin.buffer.raw.read(256):
            break


def receive(url, pattern, count):
    bus, tally = lcm.LCM(url), Tally()

    def on_message(channel, data):
        tally.add(data)
        say("%s %d %08x" % (channel, len(data), zlib.crc32(data)))

    handle(bus, pattern, on_message, tally, int(count))
    return tally


def echo(url, pattern, reply_channel):
    bus, tally = lcm.LCM(url), Tally()

    def on_message(_, data):
        tally.add(data)
        bus.publish(reply_channel, data)

    handle(bus, pattern, on_message, tally, 0)
    return tally


def send(url, channel, n_channels, seed, count, pace, *sizes):
    bus, tally = lcm.LCM(url), Tally()
    n_channels, seed, count, sizes = int(n_channels), int(seed), int(count), [int(size) for size in sizes]

    def publish(index):
        data = content(seed, index, sizes[index % len(sizes)])
        bus.publish(channel + str(index % n_channels) if n_channels > 1 else channel, data)
        tally.add(data)

    say("ready")
    if pace == "step":
        while count == 0 or tally.n_messages < count:
            line = sys.stdin.readline()
            if not line:
                break
            publish(int(line))
            say("sent %d" % int(line))
    else:
        due = time.monotonic()
        for index in range(count):
            publish(index)
            if float(pace) > 0:
                due += 1 / float(pace)
                time.sleep(max(0, due - time.monotonic()))
    return tally


tally = {"receive": receive, "send": send, "echo": echo}[sys.argv[1]](*sys.argv[2:])
say("done %d messages %d bytes" % (tally.n_messages, tally.n_bytes))
