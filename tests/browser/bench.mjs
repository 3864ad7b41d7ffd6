// The page's figures on this machine: first view, bytes, pictures a second under load and after a day, and how long a stop
// takes from the press to zero thrust. The station, the gate and the vehicle are real.
//
//   node tests/browser/bench.mjs [--json] [--presses N] [--seconds N] [--only view|load|day|stop]

import os from "node:os";
import { parseArgs } from "node:util";
import { goTo, press, says, seen, takeAndClear, until } from "./lib/bridge.mjs";
import { closeBrowser, openBrowser, thrustOf, World } from "./lib/world.mjs";

const { values: options } = parseArgs({
    options: {
        json: { type: "boolean", default: false },
        presses: { type: "string", default: "200" },
        seconds: { type: "string", default: "10" },
        only: { type: "string" },
    },
});
const N_PRESSES = Number(options.presses);
const SECONDS = Number(options.seconds);
const figures = [];

/** A figure with its aim; `isMet` is undefined where there is none. */
function figure(name, value, unit, aim, isMet) {
    figures.push({ name, value: Number(value.toFixed(2)), unit, aim, isMet });
    if (!options.json) {
        const verdict = isMet === undefined ? "" : isMet ? "  met" : "  NOT met";
        console.log(`${name.padEnd(58)} ${value.toFixed(1).padStart(9)} ${unit.padEnd(5)} ${aim}${verdict}`);
    }
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;

/** What is measured, each with a vessel of its own: one that lies still is carried away by the current. */
const PARTS = { view: firstView, load, day, stop };

await openBrowser(["--enable-precise-memory-info"]);
try {
    for (const [name, measure] of Object.entries(PARTS)) {
        if (options.only === undefined || options.only === name) {
            await World.run(async (world) => {
                const url = await world.hub();
                // The gate as it is on the water, but for the fence: a vessel that is stopped again and again drifts.
                await world.vessel(url, { args: ["--set", "gate.lease=4s", "--set", "gate.fence_m=[]"] });
                const station = await world.station(["-l", url, "--chart", "worlds/harbour.geojson"]);
                await measure(world, station, url);
            });
        }
    }
} finally {
    await closeBrowser();
}
const [load1] = os.loadavg();
if (options.json) {
    console.log(JSON.stringify({ cpu: os.cpus()[0]?.model, cores: os.cpus().length, load1, figures }, undefined, 2));
} else {
    console.log(`${os.cpus().length} cores, ${os.cpus()[0]?.model}; load average ${load1.toFixed(1)}`);
}
process.exitCode = figures.some(({ isMet }) => isMet === false) ? 1 : 0;

/** From nothing in the cache to who is in control and where the vehicle is. */
async function firstView(world, station) {
    const times = [];
    let bytes = 0;
    for (let i = 0; i < 5; i++) {
        const page = await world.page("about:blank");
        await page.addInitScript(watchFirstView);
        const network = await page.context().newCDPSession(page);
        await network.send("Network.enable");
        bytes = 0;
        network.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
        await page.goto(station.url);
        await page.waitForFunction(() => globalThis.firstViewMs !== undefined);
        times.push(await page.evaluate(() => globalThis.firstViewMs));
        await page.getByRole("button", { name: "3D" }).click();
        await page.locator("[data-panel=scene] canvas").first().waitFor();
        await page.context().close();
    }
    times.sort((a, b) => a - b);
    figure("first useful view, median of 5", percentile(times, 0.5), "ms", "< 1000", percentile(times, 0.5) < 1_000);
    figure("transferred, all pages, chart, without messages", bytes / 1e6, "MB", "< 2", bytes < 2e6);
}

/** Runs in the page: when the authority is known and the vehicle is drawn. */
function watchFirstView() {
    const look = () => {
        const state = document.querySelector(".authority")?.dataset.state ?? "none";
        const isDrawn = document.querySelector("[data-panel=map] canvas") !== null;
        const isFresh = document.querySelector("[data-panel=vitals]")?.dataset.fresh === "fresh";
        if (state !== "none" && state !== "stale" && isDrawn && isFresh) {
            globalThis.firstViewMs = performance.now();
        } else {
            requestAnimationFrame(look);
        }
    };
    requestAnimationFrame(look);
}

/** Pictures a second while so many messages a second come to the page. */
async function load(world, station, url) {
    const bus = await world.bus(url, "(pose|sounder\\.depth|thrust|imu)");
    const samples = {};
    for (const name of ["pose", "sounder.depth", "thrust", "imu"]) {
        const { picked } = await bus.next((channel, bytes) => (channel === name ? Buffer.from(bytes) : undefined));
        samples[name] = picked;
    }
    const page = await world.page(station.url);
    const quiet = await pictures(page);
    figure("pictures a second, one vessel", quiet.perSecond, "1/s", "60", quiet.perSecond >= 58);
    const end = publishLoad(bus, samples);
    const busy = await pictures(page);
    figure("messages a second at the page", busy.messages, "1/s", "1000", busy.messages >= 950);
    figure("pictures a second at that", busy.perSecond, "1/s", "60", busy.perSecond >= 58);
    figure("longest time between two pictures at that", busy.longestMs, "ms", "");
    end();
    bus.close();
    await page.context().close();
}

/** Publishes 700 messages a second beside the vessel's own: poses at 30 Hz, the rest at 10. */
function publishLoad(bus, samples) {
    let n = 0;
    const channels = [
        ...Array.from({ length: 18 }, (_, i) => [`load.${i}.pose`, samples.pose, 33]),
        ...Array.from({ length: 12 }, (_, i) => [`load.${i}.depth`, samples["sounder.depth"], 100]),
        ...Array.from({ length: 12 }, (_, i) => [`load.${i}.imu`, samples.imu, 100]),
        ...Array.from({ length: 12 }, (_, i) => [`load.${i}.thrust`, samples.thrust, 100]),
    ];
    const due = channels.map(() => 0);
    const timer = setInterval(() => {
        const now = performance.now();
        channels.forEach(([name, bytes, everyMs], i) => {
            if (now >= due[i]) {
                due[i] = Math.max(due[i] + everyMs, now - everyMs);
                bus.publish(name, bytes);
                n += 1;
            }
        });
    }, 5);
    return () => {
        clearInterval(timer);
        return n;
    };
}

/** Counts pictures, and messages by the page's own link panel. */
async function pictures(page) {
    await page.locator("[data-panel=map] canvas").first().waitFor();
    return page.evaluate(async (seconds) => {
        const times = [];
        const until = performance.now() + seconds * 1e3;
        await new Promise((resolve) => {
            const next = (now) => {
                times.push(now);
                performance.now() < until ? requestAnimationFrame(next) : resolve();
            };
            requestAnimationFrame(next);
        });
        const gaps = times.slice(1).map((it, i) => it - times[i]);
        const rate = [...document.querySelectorAll(".link .readout")].find((it) =>
            it.textContent.startsWith("Messages"),
        );
        // After a slow picture the page leaves some out, to listen: as long as that took, but not longer than 250 ms.
        const leftOut = gaps.filter((it) => it > 50).reduce((sum, it) => sum + Math.min(it, 250) / 16.7, 0);
        return {
            perSecond: (1e3 * Math.max(0, gaps.length - leftOut)) / (times.at(-1) - times[0]),
            longestMs: Math.max(...gaps),
            messages: Number(rate?.querySelector(".value")?.textContent ?? "0"),
            heapMb: performance.memory ? performance.memory.usedJSHeapSize / 1e6 : Number.NaN,
        };
    }, SECONDS);
}

/** A day of poses, depths and spectra, as fast as the page takes them; then pictures a second as before. */
async function day(world, station) {
    const page = await world.page("about:blank");
    await page.addInitScript(keepSocket);
    await page.goto(station.url);
    await page.locator("[data-panel=map] canvas").first().waitFor();
    const before = await pictures(page);
    const feeding = await page.evaluate(feedDay, 24);
    const after = await pictures(page);
    figure("a day of poses and depths taken in", feeding.seconds, "s", "");
    figure("messages in that day", feeding.n / 1e3, "k", "");
    figure("pictures a second before it", before.perSecond, "1/s", "");
    figure(
        "pictures a second after it",
        after.perSecond,
        "1/s",
        "60",
        after.perSecond >= 0.95 * Math.min(60, before.perSecond),
    );
    figure("memory of the page before it", before.heapMb, "MB", "");
    figure("memory of the page after it", after.heapMb, "MB", "", undefined);
    await page.context().close();
}

/** Runs in the page: keeps the socket, and the last message of each channel. */
function keepSocket() {
    const Real = globalThis.WebSocket;
    globalThis.channels = new Map();
    globalThis.WebSocket = class extends Real {
        constructor(...args) {
            super(...args);
            globalThis.socket = this;
            this.addEventListener("message", ({ data }) => {
                const view = new DataView(data);
                if (view.getUint8(0) === 2) {
                    const name = new TextDecoder().decode(new Uint8Array(data, 13));
                    globalThis.channels.set(view.getUint32(1), { name });
                } else if (view.getUint8(0) === 4) {
                    const channel = globalThis.channels.get(view.getUint32(1));
                    if (channel) channel.last = data;
                }
            });
        }
    };
}

/** Runs in the page: says a day's worth through the socket's own listener, ten poses and one depth a second. */
async function feedDay(hours) {
    const find = (name) => [...globalThis.channels.values()].find((it) => it.name === name)?.last;
    const [pose, depth] = [find("pose"), find("sounder.depth")];
    const nSeconds = hours * 3_600;
    const startedMs = performance.now();
    const startUtime = Number(new DataView(pose).getBigInt64(5)) - nSeconds * 1e6;
    let n = 0;
    for (let s = 0; s < nSeconds; s++) {
        for (let tenth = 0; tenth < 10; tenth++) {
            const at = s + tenth / 10;
            const frame = pose.slice(0);
            const view = new DataView(frame);
            view.setBigInt64(5, BigInt(Math.round(startUtime + at * 1e6)));
            // The matrix is the first array of doubles: its places 3 and 7 are east and north.
            const matrix = globalThis.matrixAt ?? (globalThis.matrixAt = findMatrix(view));
            view.setFloat64(matrix + 24, 100 + 60 * Math.cos(at / 90) + ((at / 4_000) % 20));
            view.setFloat64(matrix + 56, 75 + 40 * Math.sin(at / 90) + ((at / 7_000) % 20));
            globalThis.socket.onmessage({ data: frame });
            n += 1;
        }
        const frame = depth.slice(0);
        new DataView(frame).setBigInt64(5, BigInt(Math.round(startUtime + s * 1e6)));
        globalThis.socket.onmessage({ data: frame });
        n += 1;
        if (s % 600 === 0) {
            await new Promise((resolve) => setTimeout(resolve));
        }
    }
    return { seconds: (performance.now() - startedMs) / 1e3, n };

    /** Where in a frame the matrix begins: the only sixteen doubles in a row that end with 0 0 0 1. */
    function findMatrix(view) {
        for (let at = 25; at + 128 <= view.byteLength; at++) {
            const tail = [12, 13, 14, 15].map((i) => view.getFloat64(at + 8 * i));
            if (
                tail[0] === 0 &&
                tail[1] === 0 &&
                tail[2] === 0 &&
                tail[3] === 1 &&
                view.getFloat64(at + 8 * 10) !== 0
            ) {
                return at;
            }
        }
        throw new Error("expected a matrix in a pose");
    }
}

/** From the press of the stop in the page to the first command without thrust on the vehicle's bus. */
async function stop(world, station, url) {
    const page = await world.page(station.url);
    const bus = await world.bus(url, "thrust");
    const when = (pick) =>
        bus.next((channel, bytes) => (channel === "thrust" && pick(thrustOf(bytes)) ? true : undefined));
    await page.evaluate(() => {
        document
            .querySelector("button.stop")
            .addEventListener(
                "pointerdown",
                (event) => (globalThis.pressedMs = performance.timeOrigin + event.timeStamp),
                { capture: true },
            );
    });
    await takeAndClear(page);
    const times = [];
    for (let i = 0; i < N_PRESSES; i++) {
        const moving = when(({ port, starboard }) => Math.abs(port) + Math.abs(starboard) > 0.05);
        await goTo(page, i % 2 === 0 ? [100, 80] : [110, 70]);
        await moving;
        // From the first one without thrust on, after the last with some: autonomy itself may ask for none at times.
        const zeros = [];
        const end = bus.listen((_, bytes) => {
            const { port, starboard } = thrustOf(bytes);
            if (port !== 0 || starboard !== 0) {
                zeros.length = 0;
            } else {
                zeros.push(performance.timeOrigin + performance.now());
            }
        });
        await seen(page).stop.click();
        await says(seen(page).stop.locator("strong"), "STOPPED");
        end();
        times.push(zeros[0] - (await page.evaluate(() => globalThis.pressedMs)));
        await says(seen(page).state, "Stopped");
        await press(page, "Clear the stop");
        await says(seen(page).state, "Idle");
    }
    times.sort((a, b) => a - b);
    const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
    figure(`stop pressed to zero thrust, p50 of ${times.length}`, p50, "ms", "< 30", p50 < 30);
    figure(`stop pressed to zero thrust, p99 of ${times.length}`, p99, "ms", "< 80", p99 < 80);
    figure("stop pressed to zero thrust, shortest", times[0], "ms", "more than 0", times[0] > 0);
    figure("stop pressed to zero thrust, longest", times.at(-1), "ms", "");
}
