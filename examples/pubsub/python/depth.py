"""Publishes a depth five times a second, and prints the depths that all programs publish."""

import time

import bowline_bus as lcm
from sonar import depth_t


def on_depth(channel, depth):
    print(f"{depth.sensor} {depth.depth_m} m", flush=True)


bus = lcm.LCM()
bus.subscribe("sonar.depth", on_depth, type=depth_t)
due = time.time()
while True:
    if time.time() >= due:
        due = time.time() + 0.2
        depth = depth_t()
        depth.utime, depth.depth_m, depth.sensor = int(time.time() * 1e6), 4.5, "python"
        bus.publish("sonar.depth", depth)
    bus.handle_timeout(50)
