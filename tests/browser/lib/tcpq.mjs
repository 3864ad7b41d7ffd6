// LCM's TCP protocol, as crates/wire/src/tcpq.rs has it: for tests that look at a bus, feed it, or join two of them.

import { once } from "node:events";
import net from "node:net";
import { PATIENCE_MS, within } from "./patience.mjs";

const [PUBLISH, SUBSCRIBE] = [1, 2];

/** A client of a hub. */
export class Bus {
    #socket;
    #rest = Buffer.alloc(0);
    #heard = new Set();
    #waiting = new Set();
    #isGreeted = false;

    /** Connects to `tcpq://HOST:PORT` and receives everything that matches. */
    static async open(url, pattern = ".*") {
        const { hostname, port } = new URL(url.replace(/^tcpq:/, "http:"));
        const bus = new Bus();
        bus.#socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
        await within(once(bus.#socket, "connect"), `a hub at ${url}`);
        bus.#socket.on("data", (bytes) => bus.#take(bytes));
        bus.#socket.on("error", () => bus.close());
        const hello = Buffer.alloc(8);
        hello.writeUInt32BE(0x287617fb, 0);
        hello.writeUInt32BE(0x0100, 4);
        bus.#socket.write(Buffer.concat([hello, frame(SUBSCRIBE, pattern)]));
        return bus;
    }

    /** Calls back with each message: channel and bytes. Returns what ends that. */
    listen(hear) {
        this.#heard.add(hear);
        return () => this.#heard.delete(hear);
    }

    /**
     * The first message for which `pick` gives something: what it gave, and when that was by this process's clock. One that
     * does not come in time, or before the bus is closed, is an error that names what was waited for.
     */
    next(pick, { what = "a message", withinMs = PATIENCE_MS } = {}) {
        const picked = new Promise((resolve, reject) => {
            const settle = (done, value) => {
                clearTimeout(timer);
                end();
                this.#waiting.delete(fail);
                done(value);
            };
            const fail = (why) => settle(reject, new Error(`expected ${what} on the bus, ${why}`));
            const timer = setTimeout(() => fail(`heard none for ${withinMs / 1e3} s`), withinMs);
            const end = this.listen((channel, bytes) => {
                const picked = pick(channel, bytes);
                if (picked !== undefined) {
                    settle(resolve, { picked, atMs: performance.timeOrigin + performance.now() });
                }
            });
            this.#waiting.add(fail);
        });
        // A waiting scenario gets the error; one that ended before it waited has reported why.
        picked.catch(() => undefined);
        return picked;
    }

    publish(channel, bytes) {
        const size = Buffer.alloc(4);
        size.writeUInt32BE(bytes.length);
        this.#socket.write(Buffer.concat([frame(PUBLISH, channel), size, bytes]));
    }

    close() {
        for (const fail of this.#waiting) {
            fail("which was closed");
        }
        this.#heard.clear();
        this.#socket.destroy();
    }

    #take(bytes) {
        this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
        let at = 0;
        if (!this.#isGreeted && this.#rest.length >= 8) {
            this.#isGreeted = true;
            at = 8;
        }
        for (;;) {
            const message = this.#isGreeted ? read(this.#rest, at) : undefined;
            if (message === undefined) {
                break;
            }
            at = message.end;
            for (const hear of this.#heard) {
                hear(message.channel, message.bytes);
            }
        }
        this.#rest = this.#rest.subarray(at);
    }
}

function frame(kind, name) {
    const bytes = Buffer.from(name);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(kind, 0);
    head.writeUInt32BE(bytes.length, 4);
    return Buffer.concat([head, bytes]);
}

function read(buffer, at) {
    if (buffer.length < at + 12) {
        return undefined;
    }
    const nameEnd = at + 8 + buffer.readUInt32BE(at + 4);
    if (buffer.length < nameEnd + 4) {
        return undefined;
    }
    const end = nameEnd + 4 + buffer.readUInt32BE(nameEnd);
    if (buffer.length < end) {
        return undefined;
    }
    return { channel: buffer.toString("latin1", at + 8, nameEnd), bytes: buffer.subarray(nameEnd + 4, end), end };
}

/** The channels that describe types have no prefix: they are common to all. */
const COMMON = /^bowline\.schema/;

/**
 * A link between a vehicle's bus and a station's, as `bowline link` gives one: what the vehicle publishes gets a prefix, what
 * operators ask for loses it. It can be cut.
 */
export class Link {
    isCut = false;

    static async join(vehicleUrl, stationUrl, prefix) {
        const link = new Link();
        const commands = prefix.replace(".", "\\.");
        [link.vehicle, link.station] = await Promise.all([
            Bus.open(vehicleUrl, "(?!operator\\.).*"),
            Bus.open(stationUrl, `(${commands}operator\\..*|${commands}bowline\\.(call|answer)\\..*)`),
        ]);
        link.vehicle.listen((channel, bytes) => {
            if (!link.isCut && !channel.startsWith("operator.")) {
                link.station.publish(COMMON.test(channel) ? channel : prefix + channel, bytes);
            }
        });
        link.station.listen((channel, bytes) => {
            if (!link.isCut && channel.startsWith(`${prefix}operator.`)) {
                link.vehicle.publish(channel.slice(prefix.length), bytes);
            }
        });
        return link;
    }

    close() {
        this.vehicle.close();
        this.station.close();
    }
}
