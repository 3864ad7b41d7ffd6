"""What the tests share. They run in a network of their own: see tests/tests/python.rs."""

import faulthandler
import os

import bowline_bus
import lcm

# Only guards against waiting for ever.
PATIENCE_MS = 30_000
faulthandler.dump_traceback_later(600, exit=True)

# liblcm takes a larger buffer only by an option.
UDPM = "udpm://239.255.76.67:7667?ttl=0&recv_buf_size=4194304"
MEMQ = "memq://"
URLS = (MEMQ, UDPM)
REFERENCE, OURS = lcm, bowline_bus
MODULES = (REFERENCE, OURS)


def handle(lc, n_messages):
    """Handles so many messages."""
    for _ in range(n_messages):
        if lc.handle_timeout(PATIENCE_MS) <= 0:
            raise AssertionError("expected a message, found none")


def rss_bytes():
    """How much memory this process has."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def content(size):
    """Bytes that differ along the way."""
    period = bytes(range(251))
    return (period * (size // len(period) + 1))[:size]
