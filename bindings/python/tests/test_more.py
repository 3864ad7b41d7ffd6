"""What ours does that the reference's module does not, or does not promise."""

import array
import ast
import asyncio
import copy
import ctypes
import gc
import mmap
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref

import numpy

import bowline_bus
from support import MEMQ, PATIENCE_MS, UDPM, URLS, handle, rss_bytes

FOLDER = pathlib.Path(__file__).parent


class Open(unittest.TestCase):
    def test_unknown_options_give_a_warning(self):
        with self.assertWarnsRegex(UserWarning, 'memq has no option "nosuch"'):
            bowline_bus.LCM(MEMQ + "?nosuch=1")


class Publish(unittest.TestCase):
    def test_anything_with_a_buffer_can_be_published(self):
        text = b"some bytes, and a few more of them!!"
        mapped = mmap.mmap(-1, len(text))
        mapped.write(text)
        grid = numpy.arange(12, dtype=">f4").reshape(3, 4)
        payloads = [
            (text, text),
            (bytearray(text), text),
            (memoryview(text), text),
            (memoryview(text)[5:10], text[5:10]),
            (memoryview(text).cast("i"), text),
            (array.array("h", [1, 2, 3]), array.array("h", [1, 2, 3]).tobytes()),
            ((ctypes.c_char * 4)(*b"abcd"), b"abcd"),
            (mapped, text),
            (grid, grid.tobytes()),
            (grid[1], grid[1].tobytes()),
            (numpy.float64(2.5), numpy.float64(2.5).tobytes()),
            (numpy.zeros(0), b""),
            (bytearray(), b""),
            ("grün", "grün".encode()),
        ]
        for url in URLS:
            lc, seen = bowline_bus.LCM(url), []
            lc.subscribe("T_A", lambda _, data: seen.append(data))
            for payload, _ in payloads:
                lc.publish("T_A", payload)
            handle(lc, len(payloads))
            self.assertEqual(seen, [expected for _, expected in payloads])

    def test_what_was_published_is_let_go_of(self):
        lc, buffer = bowline_bus.LCM(MEMQ), bytearray(10)
        lc.publish("T_A", buffer)
        # Refused while its memory is in use.
        buffer.extend(b"more")

    def test_what_is_not_in_one_piece_is_refused(self):
        lc = bowline_bus.LCM(MEMQ)
        for scattered in (numpy.zeros((4, 4))[:, 1], memoryview(b"abcdef")[::2]):
            with self.assertRaises(BufferError):
                lc.publish("T_A", scattered)

    def test_what_has_no_bytes_is_refused(self):
        class Wrong:
            def encode(self):
                return 7

        lc = bowline_bus.LCM(MEMQ)
        for wrong in (7, None, [1, 2], Wrong()):
            with self.assertRaises(TypeError):
                lc.publish("T_A", wrong)
        self.assertEqual(lc.counts()["published"], 0)

    def test_an_exception_while_encoding_comes_out(self):
        class Broken:
            def encode(self):
                raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            bowline_bus.LCM(MEMQ).publish("T_A", Broken())

    def test_names_that_cannot_be_sent_are_refused(self):
        lc = bowline_bus.LCM(MEMQ)
        for channel in ("", "x" * 64, "a\0b", "ü" * 32):
            with self.assertRaises(ValueError):
                lc.publish(channel, b"")


class Subscribe(unittest.TestCase):
    def queue_of(self, **choice):
        """The numbers that are left of ten."""
        lc, seen = bowline_bus.LCM(UDPM), []
        subscription = lc.subscribe("T_.*", lambda _, data: seen.append(int(data)), **choice)
        for number in range(10):
            lc.publish("T_%d" % (number % 2), b"%d" % number)
        waiting = subscription.get_queue_size()
        handle(lc, waiting)
        self.assertEqual(lc.handle_timeout(0), 0)
        counts, missing = subscription.counts(), 10 - len(seen)
        left_out = (0, missing) if choice.get("queue") == "latest" else (missing, 0)
        self.assertEqual((counts["dropped"], counts["replaced"], counts["waiting"]), (*left_out, 0))
        counts = lc.counts()
        self.assertEqual((counts["queue_drops"], counts["replaced"]), left_out)
        self.assertEqual(counts["lost"], left_out[0])
        return seen

    def test_queue_policies_keep_their_messages(self):
        self.assertEqual(self.queue_of(), list(range(10)))
        self.assertEqual(self.queue_of(queue="keep_newest", capacity=3), [7, 8, 9])
        self.assertEqual(self.queue_of(capacity=3), [7, 8, 9])
        self.assertEqual(self.queue_of(queue="keep_oldest", capacity=3), [0, 1, 2])
        self.assertEqual(self.queue_of(queue="keep_oldest"), list(range(10)))
        self.assertEqual(self.queue_of(queue="latest"), [8, 9])
        with self.assertRaises(ValueError):
            self.queue_of(queue="whatever")

    def test_a_capacity_set_later_keeps_the_policy_that_was_chosen(self):
        lc, seen = bowline_bus.LCM(MEMQ), []
        subscription = lc.subscribe("T_A", lambda _, data: seen.append(data), queue="keep_newest")
        subscription.set_queue_capacity(2)
        self.assertEqual(subscription.queue_capacity, 2)
        for data in (b"1", b"2", b"3"):
            lc.publish("T_A", data)
        handle(lc, 2)
        self.assertEqual(seen, [b"2", b"3"])

    def test_ended_subscription_raises_an_error(self):
        lc = bowline_bus.LCM(MEMQ)
        subscription = lc.subscribe("T_A", print)
        lc.unsubscribe(subscription)
        for call in (lambda: subscription.set_queue_capacity(1), subscription.get_queue_size):
            with self.assertRaises(ValueError):
                call()

    def test_alternatives_match_whole_names(self):
        lc, seen = bowline_bus.LCM(MEMQ), []
        # The reference takes this for "begins with T_A, or ends with T_B".
        lc.subscribe("T_A|T_B", lambda channel, _: seen.append(channel))
        for channel in ("T_A", "T_AX", "XT_B", "T_B"):
            lc.publish(channel, b"")
        handle(lc, 2)
        self.assertEqual(seen, ["T_A", "T_B"])
        self.assertEqual(lc.handle_timeout(0), 0)

    def test_a_malformed_pattern_is_an_error(self):
        with self.assertRaises(ValueError):
            bowline_bus.LCM(MEMQ).subscribe("(", print)

    def test_a_type_must_decode(self):
        with self.assertRaises(TypeError):
            bowline_bus.LCM(MEMQ).subscribe("T_A", print, type=int)

    def test_exceptions_of_a_typed_handler_are_its_own(self):
        class Message:
            @staticmethod
            def decode(data):
                return data

        def fail(*_):
            raise ValueError("not about decoding")

        lc = bowline_bus.LCM(MEMQ)
        lc.subscribe("T_A", fail, type=Message)
        lc.publish("T_A", b"")
        with self.assertRaisesRegex(ValueError, "not about decoding"):
            lc.handle()
        self.assertEqual(lc.counts()["undecodable"], 0)

    def test_what_is_not_about_the_message_is_not_swallowed(self):
        class Message:
            @staticmethod
            def decode(data):
                raise KeyboardInterrupt

        lc = bowline_bus.LCM(MEMQ)
        lc.subscribe("T_A", print, type=Message)
        lc.publish("T_A", b"")
        with self.assertRaises(KeyboardInterrupt):
            lc.handle()

    def test_a_handler_may_handle(self):
        lc, seen = bowline_bus.LCM(MEMQ), []

        def outer(_, data):
            seen.append(data)
            if len(seen) == 1:
                lc.handle()
                seen.append("inner done")

        lc.subscribe("T_A", outer)
        lc.publish("T_A", b"1")
        lc.publish("T_A", b"2")
        lc.handle()
        self.assertEqual(seen, [b"1", b"2", "inner done"])
        self.assertEqual(lc.handle_timeout(0), 0)

    def test_counts_add_up(self):
        lc, other = bowline_bus.LCM(UDPM), bowline_bus.LCM(UDPM)
        lc.subscribe("T_A", lambda *_: None)
        for _ in range(3):
            other.publish("T_A", b"four")
        handle(lc, 3)
        sent, received = other.counts(), lc.counts()
        self.assertEqual((sent["published"], sent["published_bytes"]), (3, 12))
        self.assertEqual((received["received"], received["received_bytes"], received["lost"]), (3, 12, 0))
        self.assertEqual(received["network"]["senders"], 1)
        self.assertGreater(received["network"]["receive_buffer"], 0)


class Threads(unittest.TestCase):
    def test_python_goes_on_while_a_thread_waits(self):
        for url in URLS:
            lc, handled = bowline_bus.LCM(url), threading.Event()
            lc.subscribe("T_A", lambda *_: handled.set())
            thread = threading.Thread(target=lc.handle)
            thread.start()
            # Were the lock of the interpreter held in handle(), this would never come to be.
            lc.publish("T_A", b"")
            self.assertTrue(handled.wait(PATIENCE_MS / 1000))
            thread.join()

    def test_python_goes_on_while_a_thread_sends(self):
        lc, turns, is_over = bowline_bus.LCM(UDPM), [0], threading.Event()

        def count_turns():
            while not is_over.is_set():
                turns[0] += 1

        thread = threading.Thread(target=count_turns)
        thread.start()
        data, before = bytes(64 << 20), turns[0]
        lc.publish("T_LARGE", data)
        during = turns[0] - before
        is_over.set()
        thread.join()
        self.assertGreater(during, 0)

    def test_many_threads_share_a_bus(self):
        n_threads, n_messages = 4, 2_000
        lc, lock, seen = bowline_bus.LCM(UDPM), threading.Lock(), []

        def on_message(_, data):
            with lock:
                seen.append(data)

        def publish(who):
            for number in range(n_messages):
                lc.publish("T_A", b"%d %d" % (who, number))

        lc.subscribe("T_A", on_message)
        handlers = [threading.Thread(target=handle, args=(lc, n_messages)) for _ in range(n_threads)]
        publishers = [threading.Thread(target=publish, args=(who,)) for who in range(n_threads)]
        for thread in handlers + publishers:
            thread.start()
        for thread in handlers + publishers:
            thread.join()
        self.assertEqual(len(set(seen)), n_threads * n_messages, lc.counts())

    def test_ctrl_c_ends_waiting(self):
        program = """
import bowline_bus, sys
lc = bowline_bus.LCM(sys.argv[1])
lc.subscribe("T_A", print)
if sys.argv[2] == "fileno":
    lc.fileno()
print("ready", flush=True)
try:
    lc.handle() if sys.argv[3] == "handle" else lc.handle_timeout(1_000_000_000)
except KeyboardInterrupt:
    lc.publish("T_A", b"on")
    lc.handle()
    print("interrupted", flush=True)
"""
        for url in URLS:
            for descriptor in ("fileno", "none"):
                for call in ("handle", "handle_timeout"):
                    with self.subTest(url=url, descriptor=descriptor, call=call):
                        self.interrupt([sys.executable, "-c", program, url, descriptor, call])

    def interrupt(self, command):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            # Asleep: it waits. Between its looks for signals it is awake for a moment.
            stat = pathlib.Path("/proc/%d/stat" % process.pid)
            while stat.read_text().rpartition(")")[2].split()[0] != "S":
                pass
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE_MS / 1000)
        self.assertEqual(out, "T_A b'on'\ninterrupted\n")

    def test_signal_handlers_run_while_waiting(self):
        lc, caught = bowline_bus.LCM(UDPM), []

        def on_alarm(*_):
            caught.append("alarm")
            lc.publish("T_A", b"")

        lc.subscribe("T_A", lambda *_: caught.append("message"))
        before = signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            lc.handle()
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(caught, ["alarm", "message"])


class EventLoops(unittest.TestCase):
    def test_asyncio_calls_handle(self):
        async def count(url, n_messages):
            lc, seen = bowline_bus.LCM(url), []
            loop, done = asyncio.get_running_loop(), asyncio.Event()

            def on_message(_, data):
                seen.append(int(data))
                if len(seen) == n_messages:
                    done.set()

            lc.subscribe("T_A", on_message)
            loop.add_reader(lc.fileno(), lc.handle)
            for number in range(n_messages):
                lc.publish("T_A", b"%d" % number)
                await asyncio.sleep(0)
            await asyncio.wait_for(done.wait(), PATIENCE_MS / 1000)
            loop.remove_reader(lc.fileno())
            return seen

        for url in URLS:
            self.assertEqual(asyncio.run(count(url, 300)), list(range(300)))


class Memory(unittest.TestCase):
    def test_memory_does_not_grow_with_messages(self):
        class Message:
            @staticmethod
            def decode(data):
                if data[:1] == b"x":
                    raise ValueError
                return data

        def fail(*_):
            raise LookupError

        for url in URLS:
            lc, array_of_bytes = bowline_bus.LCM(url), bytearray(800)
            lc.subscribe("T_A", lambda *_: None)
            lc.subscribe("T_A", lambda *_: None, type=Message)
            lc.subscribe("T_FAIL", fail)

            def send_and_handle(n_messages):
                for number in range(n_messages):
                    lc.publish("T_A", array_of_bytes)
                    handle(lc, 1)
                    if number % 10 == 0:
                        lc.publish("T_FAIL", b"")
                        with self.assertRaises(LookupError):
                            lc.handle()
                        lc.unsubscribe(lc.subscribe("T_B.*", fail, type=Message))

            send_and_handle(10_000)
            blocks, rss = sys.getallocatedblocks(), rss_bytes()
            send_and_handle(100_000)
            self.assertLess(sys.getallocatedblocks() - blocks, 1_000, url)
            self.assertLess(rss_bytes() - rss, 4 << 20, url)
            self.assertEqual(lc.counts()["lost"], 0)

    def test_a_bus_whose_handlers_refer_to_it_is_collected(self):
        class Node(bowline_bus.LCM):
            def __init__(self):
                super().__init__(UDPM)
                self.subscription = self.subscribe("T_A", lambda *_: self.handle_timeout(0))

        node = Node()
        node.fileno()
        n_descriptors = len(os.listdir("/proc/self/fd"))
        gone = weakref.ref(node)
        del node
        gc.collect()
        self.assertIsNone(gone())
        self.assertLess(len(os.listdir("/proc/self/fd")), n_descriptors)

    def test_a_subscription_outlives_its_bus_without_harm(self):
        lc = bowline_bus.LCM(UDPM)
        subscription = lc.subscribe("T_A", print)
        del lc
        gc.collect()
        subscription.set_queue_capacity(3)
        self.assertEqual(subscription.get_queue_size(), 0)


class Logs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "log"

    def test_damage_is_skipped_and_counted(self):
        with bowline_bus.EventLog(self.path, "w") as log:
            for number in range(10):
                log.write_event(number, "T_A", bytearray(100))
        damaged = bytearray(self.path.read_bytes())
        damaged[131 * 4] ^= 0xFF
        self.path.write_bytes(damaged)
        log = bowline_bus.EventLog(self.path)
        self.assertEqual([event.eventnum for event in log], [0, 1, 2, 3, 5, 6, 7, 8, 9])
        self.assertEqual(log.damaged_bytes, 131)

    def test_a_log_can_be_continued(self):
        for number in range(3):
            with bowline_bus.EventLog(self.path, "a") as log:
                self.assertEqual(log.tell(), 36 * number)
                log.write_event(number, "T_A", b"xxxxx")
        self.assertEqual([event.eventnum for event in bowline_bus.EventLog(self.path)], [0, 1, 2])

    def test_errors_of_the_system_have_its_number(self):
        with self.assertRaises(FileNotFoundError) as caught:
            bowline_bus.EventLog(self.path)
        self.assertEqual(caught.exception.errno, 2)
        self.assertIn(str(self.path), str(caught.exception))

    def test_unreadable_event_is_not_written(self):
        with bowline_bus.EventLog(self.path, "w") as log:
            for channel in ("", "x" * 1000, "a\0b"):
                with self.assertRaises(ValueError):
                    log.write_event(0, channel, b"")
        self.assertEqual(self.path.stat().st_size, 0)

    def test_every_call_on_a_closed_log_raises(self):
        log = bowline_bus.EventLog(self.path, "w")
        log.close()
        for call in (log.size, log.tell, log.next, lambda: log.damaged_bytes, lambda: next(log)):
            with self.assertRaises(ValueError):
                call()

    def test_events_are_copied_and_pickled(self):
        event = bowline_bus.Event(1, 2, "T_A", b"x")
        event.note = "own"
        for other in (copy.copy(event), pickle.loads(pickle.dumps(event))):
            self.assertEqual((other.eventnum, other.timestamp, other.channel, other.data), (1, 2, "T_A", b"x"))
            self.assertEqual(other.note, "own")
        self.assertEqual(repr(event), "Event(1, 2, 'T_A', b'x')")


class Documents(unittest.TestCase):
    def test_the_stub_has_what_the_module_has(self):
        package = pathlib.Path(bowline_bus.__file__).parent
        self.assertTrue((package / "py.typed").exists())
        tree = ast.parse((package / "__init__.pyi").read_text())
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for name in ("LCM", "LCMSubscription", "Event", "EventLog"):
            stub = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)}
            stub |= {node.target.id for node in classes[name].body if isinstance(node, ast.AnnAssign)}
            present = {member for member in vars(getattr(bowline_bus, name)) if not member.startswith("_")}
            self.assertEqual({member for member in stub if not member.startswith("_")}, present, name)

    def test_counts_have_the_names_of_the_stub(self):
        package = pathlib.Path(bowline_bus.__file__).parent
        tree = ast.parse((package / "__init__.pyi").read_text())

        def keys(name):
            (node,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
            return {field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}

        lc = bowline_bus.LCM(MEMQ)
        counts = lc.counts()
        self.assertEqual(set(counts), keys("Counts"))
        self.assertEqual(set(counts["network"]), keys("NetworkCounts"))
        self.assertEqual(set(lc.subscribe("T_A", print).counts()), keys("QueueCounts"))

    def test_readme_examples_print_their_output(self):
        blocks = (FOLDER.parent / "README.md").read_text().split("```")[1::2]
        programs = [block[len("python\n") :] for block in blocks if block.startswith("python\n")]
        prints = [block[len("text\n") :] for block in blocks if block.startswith("text\n")]
        # The first is the one line to change.
        self.assertEqual(len(programs), len(prints) + 1)
        for program, expected in zip(programs[1:], prints):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, expected)


if __name__ == "__main__":
    unittest.main()
