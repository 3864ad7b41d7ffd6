"""The reference's module and ours talk to each other, and read each other's logs."""

import importlib
import os
import sys
import tempfile
import unittest

from support import MODULES, OURS, REFERENCE, UDPM, content, handle

# None at all, around the largest datagram, and many fragments.
SIZES = [0, 1, 1_400, 65_485, 65_486, 65_487, 65_499, 65_500, 131_000, 1_000_000, 8_000_000]
# Linux gives the reference a buffer of three fragments, which a large message may overrun.
SURELY_RECEIVED = 131_000
MAX_ATTEMPTS = 40
ATTEMPT_MS = 2_000
DIRECTIONS = [(REFERENCE, OURS), (OURS, REFERENCE), (OURS, OURS)]


def types_of(maker):
    """The module with the types that one of the compilers made."""
    folder = os.path.join(os.environ["GENERATED"], maker)
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("robot")
    finally:
        sys.path.remove(folder)


class Interop(unittest.TestCase):
    def test_messages_of_all_sizes_arrive_whole(self):
        for sender_module, receiver_module in DIRECTIONS:
            seen = []
            receiver, sender = receiver_module.LCM(UDPM), sender_module.LCM(UDPM)
            receiver.subscribe("T_SIZES", lambda _, data: seen.append(data))
            for size in SIZES:
                with self.subTest(sender=sender_module.__name__, receiver=receiver_module.__name__, size=size):
                    self.assertTrue(self.send(sender, receiver, content(size), seen))

    def send(self, sender, receiver, data, seen):
        attempts = MAX_ATTEMPTS if len(data) > SURELY_RECEIVED else 1
        for _ in range(attempts):
            sender.publish("T_SIZES", data)
            while receiver.handle_timeout(ATTEMPT_MS) > 0:
                # Others are of messages that were taken for lost, and were only late.
                if seen.pop() == data:
                    return True
        return False

    def test_many_messages_arrive_in_order(self):
        n_messages, n_at_once = 10_000, 50
        for sender_module, receiver_module in DIRECTIONS:
            seen = []
            receiver, sender = receiver_module.LCM(UDPM), sender_module.LCM(UDPM)
            receiver.subscribe("T_MANY_.*", lambda channel, data: seen.append((channel, data))).set_queue_capacity(0)
            expected = [("T_MANY_%d" % (number % 7), b"%d" % number) for number in range(n_messages)]
            for start in range(0, n_messages, n_at_once):
                for channel, data in expected[start : start + n_at_once]:
                    sender.publish(channel, data)
                handle(receiver, n_at_once)
            self.assertEqual(seen, expected)

    def test_logs_of_one_are_read_by_the_other(self):
        events = [(number * 1000, "T_%d" % (number % 3), content(number * 100)) for number in range(50)]
        events.append((10**9, "T_LARGE", content(3_000_000)))
        for writer, reader in DIRECTIONS:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "log")
                log = writer.EventLog(path, "w")
                for event in events:
                    log.write_event(*event)
                log.close()
                read = [(event.timestamp, event.channel, event.data) for event in reader.EventLog(path)]
                self.assertEqual(read, events)

    def test_generated_types_of_both_compilers_are_published_and_decoded(self):
        for maker in ("reference", "ours"):
            for module in MODULES:
                types, seen = types_of(maker), []
                lc, sender = OURS.LCM(UDPM), module.LCM(UDPM)
                lc.subscribe("T_POSE", lambda channel, pose: seen.append((channel, pose)), type=types.pose_t)
                pose = types.pose_t()
                pose.utime, pose.position, pose.name = 12, [1.5, -2.0, 3.25], "grün"
                pose.n_samples, pose.samples = 3, [1, -2, 300]
                sender.publish("T_POSE", pose.encode())
                lc.publish("T_POSE", pose)
                handle(lc, 2)
                for channel, found in seen:
                    self.assertEqual(channel, "T_POSE")
                    self.assertIsInstance(found, types.pose_t)
                    self.assertEqual(found.encode(), pose.encode())
                    self.assertEqual((found.name, list(found.samples)), ("grün", [1, -2, 300]))
                self.assertEqual(len(seen), 2)

    def test_message_of_another_type_is_counted_and_logged(self):
        for maker in ("reference", "ours"):
            types, seen = types_of(maker), []
            lc = OURS.LCM(UDPM)
            subscription = lc.subscribe("T_POSE", lambda _, pose: seen.append(pose.utime), type=types.pose_t)
            raw = lc.subscribe("T_POSE", lambda _, data: seen.append(len(data)))
            good = types.pose_t().encode()
            with self.assertLogs("bowline_bus", "WARNING") as logs:
                for data in (b"", b"not a pose at all", good[:-1], bytes(8) + good[8:], good):
                    lc.publish("T_POSE", data)
                handle(lc, 5)
            self.assertEqual(seen, [0, 17, len(good) - 1, len(good), 0, len(good)])
            self.assertEqual(subscription.counts()["undecodable"], 4)
            self.assertEqual(raw.counts()["undecodable"], 0)
            # At one, two and four.
            self.assertEqual(len(logs.output), 3)
            self.assertIn("T_POSE", logs.output[0])
            self.assertIn("pose_t", logs.output[0])
            lc.unsubscribe(subscription)
            self.assertEqual(lc.counts()["undecodable"], 4)


if __name__ == "__main__":
    unittest.main()
