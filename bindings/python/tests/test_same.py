"""The same program on the reference's module and on ours has the same results.

Each scenario is a function of the module that returns what it saw.
"""

import os
import select
import tempfile
import threading
import unittest

from support import MEMQ, MODULES, OURS, PATIENCE_MS, REFERENCE, UDPM, URLS, handle


def outcome(call):
    """What a call returns, or the exception it raises, without the words."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


class SameResults(unittest.TestCase):
    maxDiff = None

    def check(self, scenario, *arguments):
        reference, ours = (scenario(module, *arguments) for module in MODULES)
        self.assertEqual(reference, ours)
        self.assertTrue(reference, "a scenario that sees nothing shows nothing")
        return reference

    def test_messages_reach_the_handlers_whose_patterns_match(self):
        patterns = ["T_A", "T_.*", "T_[AB]", "T_B+", "(?!T_A$)T_.*", "T_\\d", "T_", "T_(A|1)"]
        channels = ["T_A", "T_B", "T_BB", "T_1", "T_", "T_A.x"]

        def scenario(module, url):
            lc, seen = module.LCM(url), []
            for pattern in patterns:
                lc.subscribe(pattern, lambda channel, data, pattern=pattern: seen.append((pattern, channel, data)))
            for channel in channels:
                lc.publish(channel, channel.encode())
            handle(lc, len(channels))
            return seen

        for url in URLS:
            self.check(scenario, url)

    def test_one_call_handles_one_message_for_all_handlers_in_order(self):
        def scenario(module, url):
            lc, seen = module.LCM(url), []
            for name in "first second third".split():
                lc.subscribe("T_A", lambda _, data, name=name: seen.append((name, data)))
            lc.publish("T_A", b"1")
            lc.publish("T_A", b"2")
            handle(lc, 1)
            seen.append("handled")
            handle(lc, 1)
            seen.append(lc.handle_timeout(0))
            return seen

        for url in URLS:
            self.check(scenario, url)

    def test_the_handler_gets_str_and_bytes_and_may_return_anything(self):
        def scenario(module):
            lc, seen = module.LCM(MEMQ), []
            lc.subscribe("T_A", lambda channel, data: seen.append((type(channel), type(data), data)) or 7)
            lc.publish("T_A", b"\x00\xff")
            lc.publish("T_A", b"")
            lc.publish("T_A", "text")
            handle(lc, 3)
            return seen

        self.check(scenario)

    def test_an_exception_in_a_handler_comes_out_and_the_next_message_is_handled(self):
        def scenario(module, url):
            lc, seen = module.LCM(url), []

            def fail(_, data):
                seen.append("failing")
                raise KeyError(data)

            lc.subscribe("T_.*", lambda _, data: seen.append(data))
            lc.subscribe("T_A", fail)
            lc.subscribe("T_.*", lambda _, data: seen.append((data, "after")))
            for channel, data in [("T_A", b"1"), ("T_B", b"2"), ("T_A", b"3"), ("T_B", b"4")]:
                lc.publish(channel, data)
                seen.append(outcome(lambda: lc.handle_timeout(PATIENCE_MS)))
            lc.publish("T_A", b"5")
            seen.append(outcome(lc.handle))
            seen.append(lc.handle_timeout(0))
            lc.subscribe("T_C", lambda too_few: None)
            lc.publish("T_C", b"")
            seen.append(outcome(lc.handle))
            return seen

        for url in URLS:
            self.check(scenario, url)

    def test_handlers_may_unsubscribe_themselves_and_others(self):
        def scenario(module, url):
            lc, seen, own = module.LCM(url), [], {}

            def leave(who, whom):
                def handler(_, data):
                    seen.append((who, data))
                    if whom in own:
                        lc.unsubscribe(own.pop(whom))

                own[who] = lc.subscribe("T_A", handler)

            leave("himself", "himself")
            leave("the next", "victim")
            leave("victim", "nobody")
            leave("stays", "nobody")
            for data in (b"1", b"2"):
                lc.publish("T_A", data)
                handle(lc, 1)
            return sorted(seen)

        for url in URLS:
            self.check(scenario, url)

    def test_a_handler_that_subscribes_sees_the_next_message(self):
        def scenario(module):
            lc, seen = module.LCM(MEMQ), []

            def handler(_, data):
                seen.append(data)
                lc.subscribe("T_A", lambda _, data: seen.append(("later", data)))

            first = lc.subscribe("T_A", handler)
            lc.publish("T_A", b"1")
            handle(lc, 1)
            seen.append(lc.handle_timeout(0))
            lc.unsubscribe(first)
            lc.publish("T_A", b"2")
            handle(lc, 1)
            return seen

        self.check(scenario)

    def test_unsubscribing_twice_or_elsewhere_is_an_error(self):
        def scenario(module):
            lc, other = module.LCM(MEMQ), module.LCM(MEMQ)
            subscription = lc.subscribe("T_A", print)
            return [
                outcome(lambda: other.unsubscribe(subscription)),
                outcome(lambda: lc.unsubscribe(subscription)),
                outcome(lambda: lc.unsubscribe(subscription)),
                outcome(lambda: lc.unsubscribe(7)),
            ]

        self.assertEqual(self.check(scenario), ["ValueError", None, "ValueError", "TypeError"])

    def test_a_queue_of_limited_size_keeps_the_oldest(self):
        def scenario(module):
            lc, seen = module.LCM(UDPM), []
            lc.subscribe("T_Q", lambda _, data: seen.append(data)).set_queue_capacity(5)
            lc.subscribe("T_END", lambda _, data: seen.append("end")).set_queue_capacity(0)
            for number in range(10):
                lc.publish("T_Q", b"%d" % number)
            # It comes after the others, for their reader.
            lc.publish("T_END", b"")
            witness = module.LCM(UDPM)
            witness.subscribe("T_WITNESS", lambda *_: None)
            for _ in range(10):
                lc.publish("T_WITNESS", b"")
                handle(witness, 1)
            while "end" not in seen:
                handle(lc, 1)
            return seen

        expected = [b"0", b"1", b"2", b"3", b"4", "end"]
        self.assertEqual(scenario(OURS), expected)
        # The reference reads on a thread of its own, which may be late now and then.
        self.assertTrue(any(scenario(REFERENCE) == expected for _ in range(50)))

    def test_waiting_ends_in_time(self):
        def scenario(module, url):
            lc = module.LCM(url)
            seen = [lc.handle_timeout(0), lc.handle_timeout(20)]
            lc.subscribe("T_A", lambda *_: None)
            seen += [lc.handle_timeout(0), lc.handle_timeout(20)]
            lc.publish("T_A", b"")
            seen.append(lc.handle_timeout(PATIENCE_MS))
            seen += [outcome(lambda: lc.handle_timeout(wrong)) for wrong in (-1, 1.5, "1", None)]
            return seen

        for url in URLS:
            self.check(scenario, url)

    def test_the_descriptor_is_readable_while_a_message_waits(self):
        def scenario(module, url):
            lc, seen = module.LCM(url), []
            lc.subscribe("T_A", lambda _, data: seen.append(data))

            def is_readable(timeout_s):
                return bool(select.select([lc], [], [], timeout_s)[0])

            seen.append((lc.fileno() == lc.fileno(), is_readable(0)))
            lc.publish("T_A", b"1")
            lc.publish("T_A", b"2")
            # The second may be under way when the first is handled.
            for _ in range(2):
                seen.append(is_readable(PATIENCE_MS / 1000))
                lc.handle()
            seen.append(is_readable(0))
            return seen

        for url in URLS:
            self.check(scenario, url)

    def test_one_thread_handles_while_another_publishes(self):
        n_messages = 500

        def scenario(module, url):
            lc, seen = module.LCM(url), []
            lc.subscribe("T_A", lambda _, data: seen.append(data)).set_queue_capacity(0)
            thread = threading.Thread(target=handle, args=(lc, n_messages))
            thread.start()
            for number in range(n_messages):
                lc.publish("T_A", b"%d" % number)
            thread.join(PATIENCE_MS / 1000)
            return thread.is_alive(), seen

        for url in URLS:
            self.check(scenario, url)

    def test_derived_classes_have_arguments_of_their_own(self):
        def scenario(module):
            class Node(module.LCM):
                def __init__(self, name, url):
                    super().__init__(url)
                    self.name, self.seen = name, []
                    self.subscribe("T_A", self.on_message)

                def on_message(self, channel, data):
                    self.seen.append((self.name, channel, data))

            node = Node("node", MEMQ)
            node.publish("T_A", b"x")
            node.handle()
            return node.seen

        self.check(scenario)

    def test_wrong_arguments_raise_the_same_exceptions(self):
        def scenario(module):
            lc = module.LCM(MEMQ)
            calls = [
                lambda: module.LCM("nosuch://"),
                lambda: module.LCM("nosuch"),
                lambda: module.LCM(7),
                lambda: lc.publish("T_A", 7),
                lambda: lc.publish(b"T_A", b""),
                lambda: lc.publish("", b""),
                lambda: lc.publish("T\0A", b""),
                lambda: lc.publish("T_A"),
                lambda: lc.subscribe("T_A", 7),
                lambda: lc.subscribe("T_A"),
                lambda: lc.subscribe(7, print),
                lambda: lc.subscribe("T_A", print).set_queue_capacity("a"),
                lambda: lc.subscribe("T_A", print).set_queue_capacity(-1),
                lambda: setattr(lc, "attribute", 1),
            ]
            return [outcome(call) for call in calls]

        self.check(scenario)

    def test_logs_are_written_read_and_sought_in(self):
        def scenario(module):
            seen = []
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "log")
                log = module.EventLog(path, "w")
                for number in range(20):
                    seen.append(log.write_event(number * 1000, "T_%d" % (number % 3), b"x" * number))
                    seen.append(log.tell())
                seen += [log.mode, log.close(), log.close()]
                with open(path, "rb") as file:
                    seen.append(file.read())
                log = module.EventLog(path)
                seen += [log.mode, log.size(), log.tell()]
                for event in log:
                    seen.append((event.eventnum, event.timestamp, event.channel, event.data, log.tell()))
                seen += [log.read_next_event(), outcome(log.next), len(list(log)), len(list(log))]
                for place in (0, 1, 100, 500, 10**6):
                    log.seek(place)
                    event = log.read_next_event()
                    seen.append(event and (event.eventnum, event.data))
                log.close()
            return seen

        self.check(scenario)

    def test_logs_are_found_by_time(self):
        def scenario(module):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "log")
                log = module.EventLog(path, "w")
                for number in range(1000):
                    log.write_event(number * 1000, "T_A", b"x" * 50)
                log.close()
                log = module.EventLog(path)
                log.seek_to_timestamp(500_000)
                return log.next().timestamp

        # "Approximately", by the reference's documentation; ours is exact.
        reference, ours = (scenario(module) for module in MODULES)
        self.assertLess(abs(reference - ours), 100_000)
        self.assertEqual(ours, 500_000)

    def test_mistakes_with_logs_raise_the_same_exceptions(self):
        def scenario(module):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "log")
                log = module.EventLog(path, "w")
                seen = [
                    outcome(log.read_next_event),
                    outcome(lambda: log.seek(0)),
                    outcome(lambda: log.seek_to_timestamp(0)),
                    outcome(lambda: iter(log)),
                    outcome(lambda: log.write_event(1.5, "T_A", b"")),
                    outcome(lambda: log.write_event(1, "T_A", 7)),
                ]
                log.write_event(1, "T_A", b"")
                log.close()
                seen += [
                    outcome(lambda: log.write_event(1, "T_A", b"")),
                    outcome(lambda: module.EventLog(path, "w")),
                    outcome(lambda: module.EventLog(path, "x")),
                    outcome(lambda: module.EventLog(os.path.join(folder, "nosuch"))),
                    outcome(lambda: module.EventLog(os.path.join(folder, "no", "such"), "w")),
                    outcome(lambda: module.EventLog(path, "w", True).close()),
                    outcome(lambda: module.EventLog(path, mode="w", overwrite=True).close()),
                ]
                log = module.EventLog(path)
                seen += [
                    outcome(lambda: log.write_event(1, "T_A", b"")),
                    outcome(lambda: log.seek("a")),
                    log.close(),
                    outcome(log.read_next_event),
                    outcome(lambda: log.seek(0)),
                    outcome(lambda: iter(log)),
                ]
                return seen

        self.check(scenario)

    def test_events_are_plain_objects(self):
        def scenario(module):
            event = module.Event(1, 2, "T_A", b"x")
            event.timestamp = 3
            event.note = "own"
            return event.eventnum, event.timestamp, event.channel, event.data, event.note

        self.check(scenario)


if __name__ == "__main__":
    unittest.main()
