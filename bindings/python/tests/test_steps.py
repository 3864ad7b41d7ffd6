"""Programs that take steps on request: `bowline_bus.deterministic`, against a host in this process."""

import os
import sys
import threading
import unittest

import bowline_bus
from support import PATIENCE_MS

sys.path.insert(0, os.path.join(os.environ["GENERATED"], "ours"))
from bowline import step_done_t, step_ready_t, step_request_t  # noqa: E402

CHANNELS = ".*"


class Stop(Exception):
    """Ends a program, which goes on for ever otherwise."""


class Host:
    """Requests steps of a program in a thread."""

    def __init__(self, name, program):
        self.url = f"memq://steps-{name}"
        self.bus = bowline_bus.LCM(self.url)
        self.seen = []
        self.raised = None
        self.n_steps = 0
        self.bus.subscribe(CHANNELS, lambda channel, data: self.seen.append((channel, data)))
        self.thread = threading.Thread(target=self.run, args=[program], daemon=True)
        self.thread.start()
        self.ready = step_ready_t.decode(self.until("bowline.step.ready")[-1][1])

    def run(self, program):
        try:
            program(bowline_bus.LCM(self.url))
        except Exception as error:
            self.raised = error

    def until(self, channel):
        """What was published up to a message on a channel."""
        while not any(seen == channel for seen, _ in self.seen):
            if self.bus.handle_timeout(PATIENCE_MS) == 0:
                raise AssertionError(f"expected a message on {channel}, found {self.seen}")
        seen, self.seen = self.seen, []
        return seen

    def step(self, reason, time_ns, message=None):
        """What the program published in a step, and its report."""
        request = step_request_t()
        request.step, request.time_ns, request.reason = self.n_steps, time_ns, reason
        self.n_steps += 1
        if message:
            request.channel = message[0]
            self.bus.publish(*message)
        self.bus.publish("bowline.step.request", request)
        own = ["bowline.step.request", "bowline.schema", request.channel]
        seen = [it for it in self.until("bowline.step.done") if it[0] not in own]
        return seen[:-1], step_done_t.decode(seen[-1][1])

    def end(self):
        self.thread.join(PATIENCE_MS / 1000)
        if self.thread.is_alive():
            raise AssertionError("expected the end of the program")
        return self.raised


class Deterministic(unittest.TestCase):
    def test_step_reports_after_its_handlers_and_outputs_in_their_order(self):
        requests = []

        def program(bus):
            def on_gap(channel, data):
                bus.publish("LIMIT", b"of " + data)

            def step(request):
                requests.append((request.number, request.time_ns, request.reason, request.channel))
                bus.publish("STEP", str(request.number))
                if request.number == 2:
                    raise Stop
                return request.time_ns + 7 if request.reason == "start" else None

            bus.subscribe("GAP", on_gap)
            bowline_bus.deterministic(bus, step, period=0.25, name="limiter")

        host = Host("order", program)
        self.assertEqual((host.ready.version, host.ready.name), (step_ready_t.VERSION, "limiter"))
        self.assertEqual(host.ready.period_ns, 250_000_000)

        outputs, done = host.step(step_request_t.START, 1000)
        self.assertEqual(outputs, [("STEP", b"0")])
        self.assertEqual((done.step, done.wake_ns, done.error), (0, 1007, ""))
        outputs, done = host.step(step_request_t.MESSAGE, 2000, ("GAP", b"two"))
        self.assertEqual(outputs, [("LIMIT", b"of two"), ("STEP", b"1")])
        self.assertEqual((done.step, done.wake_ns, done.error), (1, 0, ""))
        _, done = host.step(step_request_t.PERIOD, 3000)
        self.assertEqual((done.step, done.error), (2, "Stop: "))
        self.assertIsInstance(host.end(), Stop)
        expected = [(0, 1000, "start", ""), (1, 2000, "message", "GAP"), (2, 3000, "period", "")]
        self.assertEqual(requests, expected)

    def test_exception_of_a_handler_is_reported_for_the_step_that_it_is_in(self):
        def program(bus):
            def on_gap(channel, data):
                raise ValueError(data.decode())

            bus.subscribe("GAP", on_gap)
            bowline_bus.deterministic(bus)

        host = Host("handler", program)
        self.assertEqual(host.ready.period_ns, 0)
        _, done = host.step(step_request_t.START, 1)
        self.assertEqual((done.step, done.error), (0, ""))
        _, done = host.step(step_request_t.MESSAGE, 2, ("GAP", b"a hole"))
        self.assertEqual((done.step, done.error), (1, "ValueError: a hole"))
        self.assertIsInstance(host.end(), ValueError)

    def test_wake_that_is_no_number_ends_the_program(self):
        host = Host("wake", lambda bus: bowline_bus.deterministic(bus, lambda request: "soon"))
        _, done = host.step(step_request_t.START, 1)
        self.assertIn("TypeError", done.error)
        self.assertIsInstance(host.end(), TypeError)

    def test_period_that_is_none_is_refused(self):
        bus = bowline_bus.LCM("memq://steps-period")
        for period in (-1.0, float("nan"), float("inf"), 1e12):
            with self.assertRaisesRegex(ValueError, "period is a number of seconds"):
                bowline_bus.deterministic(bus, period=period)
