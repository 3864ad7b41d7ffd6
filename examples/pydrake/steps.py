"""Takes steps on request, with LCM's own library: the program's half of docs/cosimulation.md."""

import lcm
from bowline import step_done_t, step_ready_t, step_request_t


def take_steps(inputs, step, period=0.0):
    """Calls `step(bus, request)` for each request, after the handlers of `inputs`. The run ends the program."""
    bus = lcm.LCM()

    def on_request(channel, data):
        request, done = step_request_t.decode(data), step_done_t()
        done.step = request.step
        step(bus, request)
        bus.publish("bowline.step.done", done.encode())

    for channel, handler in inputs.items():
        bus.subscribe(channel, handler)
    bus.subscribe("bowline.step.request", on_request)
    ready = step_ready_t()
    ready.version, ready.period_ns = step_ready_t.VERSION, round(period * 1e9)
    bus.publish("bowline.step.ready", ready.encode())
    while True:
        bus.handle()
