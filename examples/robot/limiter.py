"""Limits the rover's speed near obstacles: at most half of the gap in a second."""

import bowline_bus as lcm
from rover import gap_t, limit_t

bus = lcm.LCM()


def on_gap(channel, gap):
    limit = limit_t()
    limit.utime, limit.max_speed_mps = gap.utime, 0.5 * gap.nearest_m
    bus.publish("limiter.limit", limit)


bus.subscribe("keeper.gap", on_gap, type=gap_t)
lcm.deterministic(bus)
