"""Swings a pendulum up by its energy."""

from pendulum import pendulum_t, torque_t
from steps import take_steps
from math import cos

MASS_KG, LENGTH_M, GRAVITY = 1.0, 0.5, 9.81
latest = None


def on_state(channel, data):
    global latest
    latest = pendulum_t.decode(data)


def step(bus, request):
    if request.reason != request.MESSAGE:
        return
    rate = latest.rate_rad_per_s
    energy_j = MASS_KG * LENGTH_M * (0.5 * LENGTH_M * rate * rate - GRAVITY * cos(latest.angle_rad))
    torque = torque_t()
    torque.utime = latest.utime
    torque.torque_nm = max(-3.0, min(3.0, rate * (MASS_KG * LENGTH_M * GRAVITY - energy_j)))
    bus.publish("controller.torque", torque.encode())


take_steps({"plant.state": on_state}, step)
