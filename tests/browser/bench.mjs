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

/** What is large or often among the messages of a vessel. */
const HEAVY = { pictures: "camera.image", pings: "multibeam.ping", maps: "bathymetry" };
const N_MESSAGES = 1_000;

/** What a page has of a day: channels, and how often at most it asks for them, times a second. */
const OF_A_DAY = { pose: 30, "sounder.depth": 10, "spectrometer.spectrum": 10, "multibeam.ping": 30, bathymetry: 1 };
/** The share of maps that are fed: a day of them is more than a machine carries, and only the last one is kept. */
const MAPS_FED = 1 / 120;
/** What a day may cost beside what is there from the beginning: its map, once as it came and once decoded, and as much again. */
const MAX_GROWTH_MB = 32;

/** A figure with its aim; `isMet` is undefined where there is none. */
function figure(name, value, unit, aim, isMet) {
    figures.push({ name, value: Number(value.toFixed(2)), unit, aim, isMet });
    if (!options.json) {
        const verdict = isMet === undefined ? "" : isMet ? "  met" : "  NOT met";
        console.log(`${name.padEnd(58)} ${value.toFixed(1).padStart(9)} ${unit.padEnd(5)} ${aim}${verdict}`);
    }
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;

/** Hundreds of presses take longer than a scenario; a part that takes longer than this hangs. */
const PATIENCE = { withinMs: 1_800_000 };

/** What is measured, each with a vessel of its own: one that lies still is carried away by the current. */
const PARTS = { view: firstView, load, day, stop };

await openBrowser();
try {
    for (const [name, measure] of Object.entries(PARTS)) {
        if (options.only === undefined || options.only === name) {
            await World.run(async (world) => {
                const url = await world.hub();
                // The gate as it is on the water, but for the fence: a vessel that is stopped again and again drifts.
                await world.vessel(url, { args: ["--set", "gate.fence_m=[]"] });
                const station = await world.station(["-l", url, "--chart", "worlds/harbour.geojson"]);
                await measure(world, station, url);
            }, PATIENCE);
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
        bytes = 0;
        const prepare = async (page) => {
            await page.addInitScript(watchFirstView);
            const network = await page.context().newCDPSession(page);
            await network.send("Network.enable");
            network.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
        };
        const page = await world.page(station.url, { prepare });
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

/** Runs in the page: when the authority is known and the vehicle is drawn on the map, within it. */
function watchFirstView() {
    const spelling = document.createElement("canvas").getContext("2d");
    const look = () => {
        const state = document.querySelector(".authority")?.dataset.state ?? "none";
        // As a canvas spells the colour, which lib/watch.mjs has from there.
        spelling.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--vehicle").trim();
        const isDrawn = globalThis.drawn.get(`map fill ${spelling.fillStyle}`)?.isOn ?? false;
        const isFresh = document.querySelector("[data-panel=vitals]")?.dataset.fresh === "fresh";
        if (state !== "none" && state !== "stale" && isDrawn && isFresh) {
            globalThis.firstViewMs = performance.now();
        } else {
            requestAnimationFrame(look);
        }
    };
    requestAnimationFrame(look);
}

/** Pictures a second while so many messages a second come to the page: those of one vessel, under several names. */
async function load(world, station, url) {
    const page = await world.page(station.url, { isWatched: false });
    const quiet = await pictures(page);
    figure("pictures a second, one vessel", quiet.perSecond, "1/s", "60", quiet.perSecond >= 58);
    figure("messages a second at the page, one vessel", quiet.messages, "1/s", "");
    const bus = await world.bus(url);
    const load = multiply(bus, Math.ceil(N_MESSAGES / quiet.messages) - 1);
    // Until the page knows the others and shows how often they publish.
    await until(
        page,
        (n) => {
            const rate = [...document.querySelectorAll(".link .readout")].find((it) =>
                it.textContent.startsWith("Messages"),
            );
            return Number(rate?.querySelector(".value")?.textContent) > n;
        },
        quiet.messages * 1.5,
    );
    load.counts.clear();
    const busy = await pictures(page);
    figure("messages a second at the page", busy.messages, "1/s", "1000", busy.messages >= 0.95 * N_MESSAGES);
    for (const [what, channel] of Object.entries(HEAVY)) {
        figure(`${what} a second on the bus`, (load.counts.get(channel) ?? 0) / SECONDS, "1/s", "");
    }
    figure("pictures a second at that", busy.perSecond, "1/s", "60", busy.perSecond >= 58);
    figure("longest time between two pictures at that", busy.longestMs, "ms", "");
    load.end();
    await page.context().close();
}

/** Repeats, under so many other names, all messages of the vessel: as often, and as large. */
function multiply(bus, nOthers) {
    const counts = new Map();
    const end = bus.listen((channel, bytes) => {
        if (/^(load\d|operator\.|bowline\.|station\.)/.test(channel)) {
            return;
        }
        counts.set(channel, (counts.get(channel) ?? 0) + 1 + nOthers);
        for (let i = 0; i < nOthers; i++) {
            bus.publish(`load${i}.${channel}`, bytes);
        }
    });
    return { counts, end };
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
        };
    }, SECONDS);
}

/**
 * A day at a page that was there from the beginning: poses, depths, spectra and pings as often as the vessel sends them, and
 * a map of the bottom that grows to all that its component holds. They come before anything live does, as fast as the page
 * takes them; from then on the page receives the vessel, with the day's map in place of its young one.
 */
async function day(world, station, url) {
    const young = await world.page(station.url, { isWatched: false });
    const before = await pictures(young);
    const beforeMb = await heapMb(young);
    await young.context().close();

    const bus = await world.bus(url);
    const rates = await ratesOf(bus, OF_A_DAY);
    bus.close();
    const page = await world.page(station.url, {
        isWatched: false,
        prepare: (page) => page.addInitScript(holdBack, Object.keys(OF_A_DAY)),
    });
    await page.waitForFunction((n) => globalThis.held.last.size === n, Object.keys(OF_A_DAY).length);
    const fed = await page.evaluate(feedDay, { hours: 24, rates, mapsFed: MAPS_FED, nCells: 512 });
    await page.locator(".map .legend", { hasText: "100 % known" }).waitFor();
    const after = await pictures(page);
    const afterMb = await heapMb(page);
    figure("a day of messages taken in", fed.seconds, "s", "");
    figure("messages in that day", fed.n / 1e3, "k", "");
    figure("the day's map", fed.mapMb, "MB", "");
    figure("pictures a second before it", before.perSecond, "1/s", "60", before.perSecond >= 58);
    figure("pictures a second after it", after.perSecond, "1/s", "60", after.perSecond >= 58);
    figure("longest time between two pictures after it", after.longestMs, "ms", "");
    figure("memory of the page before it", beforeMb, "MB", "");
    const growthMb = afterMb - beforeMb;
    figure("memory that the day costs", growthMb, "MB", `< ${MAX_GROWTH_MB}`, growthMb < MAX_GROWTH_MB);
    await page.context().close();
}

/** How often each channel is published, times a second, but no more often than the page asks for. */
async function ratesOf(bus, most) {
    const counts = new Map();
    const end = bus.listen((channel) => counts.set(channel, (counts.get(channel) ?? 0) + 1));
    // The map is the rarest: from one to the next but one there is enough of the others.
    const startedMs = performance.now();
    for (let i = 0; i < 3; i++) {
        await bus.next((channel) => (channel === "bathymetry" ? true : undefined), { what: "bathymetry" });
    }
    end();
    const seconds = (performance.now() - startedMs) / 1e3;
    const silent = Object.keys(most).filter((it) => !counts.has(it));
    if (silent.length > 0) {
        throw new Error(`expected all that a day is made of within ${seconds.toFixed(0)} s, did not hear ${silent}`);
    }
    return Object.fromEntries(Object.entries(most).map(([it, hz]) => [it, Math.min(hz, counts.get(it) / seconds)]));
}

/** What the page's scripts hold on to, with what is in buffers. */
async function heapMb(page) {
    const heap = await page.context().newCDPSession(page);
    await heap.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize = 0 } = await heap.send("Runtime.getHeapUsage");
    return (usedSize + backingStorageSize) / 1e6;
}

/** Runs in the page: holds messages of some channels back, and keeps the last of each; frames are as in PROTOCOL.md. */
function holdBack(names) {
    const channels = new Map();
    const held = { isHolding: true, last: new Map(), map: undefined, give: undefined };
    globalThis.held = held;
    const Real = globalThis.WebSocket;
    globalThis.WebSocket = class extends Real {
        get onmessage() {
            return super.onmessage;
        }

        set onmessage(take) {
            held.give = (data) => take.call(this, new MessageEvent("message", { data }));
            super.onmessage = take === null ? null : (event) => pass(event.data) && held.give(held.now ?? event.data);
        }
    };

    /** Whether the page is to receive a frame; `held.now` is what it receives instead. */
    function pass(data) {
        const view = new DataView(data);
        held.now = undefined;
        if (view.getUint8(0) === 2) {
            channels.set(view.getUint32(1), new TextDecoder().decode(new Uint8Array(data, 13)));
        }
        const name = view.getUint8(0) === 4 ? channels.get(view.getUint32(1)) : undefined;
        if (!names.includes(name)) {
            return true;
        }
        if (held.isHolding) {
            held.last.set(name, data);
            return false;
        }
        if (name === "bathymetry") {
            held.now = held.map.slice(0);
            new DataView(held.now).setBigInt64(5, view.getBigInt64(5));
        }
        return true;
    }
}

/** Runs in the page: gives it a day's worth through the socket's own listener, in the order of time. */
async function feedDay({ hours, rates, mapsFed, nCells }) {
    const { held } = globalThis;
    const startedMs = performance.now();
    const [head, nSeconds] = [17, hours * 3_600];
    const endUtime = Number(new DataView(held.last.get("pose")).getBigInt64(5));
    const change = { pose: movePose, "sounder.depth": changeDepth, "spectrometer.spectrum": changeSpectrum };
    const due = Object.entries(rates).map(([name, hz]) => {
        const everyS = 1 / (name === "bathymetry" ? hz * mapsFed : hz);
        return { name, everyS, atS: 0 };
    });
    let n = 0;
    for (let s = 0; s < nSeconds; s++) {
        for (const it of due) {
            for (; it.atS < s + 1; it.atS += it.everyS) {
                const share = it.atS / nSeconds;
                const frame = it.name === "bathymetry" ? mapOf(share) : held.last.get(it.name).slice(0);
                const view = new DataView(frame);
                const utime = BigInt(Math.round(endUtime - (nSeconds - it.atS) * 1e6));
                view.setBigInt64(5, utime);
                view.setBigInt64(head + 8, utime);
                change[it.name]?.(view, it.atS);
                held.give(frame);
                n += 1;
            }
        }
        // The page draws meanwhile, as it would.
        if (s % 300 === 0) {
            await new Promise((resolve) => requestAnimationFrame(resolve));
        }
    }
    held.map = mapOf(1);
    held.isHolding = false;
    return { seconds: (performance.now() - startedMs) / 1e3, n, mapMb: held.map.byteLength / 1e6 };

    /** After the text behind fingerprint and time. */
    function afterText(view, at = head + 16) {
        return at + 4 + view.getUint32(at);
    }

    /** Lanes of a survey, over and over. */
    function movePose(view, s) {
        const matrix = afterText(view, afterText(view));
        const lane = Math.floor(s / 90);
        const along = (s % 90) / 90;
        view.setFloat64(matrix + 24, 50 + 100 * (lane % 2 === 0 ? along : 1 - along));
        view.setFloat64(matrix + 56, 30 + ((lane * 2.3) % 100));
    }

    function changeDepth(view, s) {
        view.setFloat64(afterText(view), 8 + 3 * Math.sin(s / 700) + Math.sin(s / 13));
    }

    function changeSpectrum(view, s) {
        const nMasses = view.getInt32(afterText(view));
        for (let i = 1; i <= nMasses; i++) {
            const at = view.byteLength - 4 * i;
            view.setFloat32(at, view.getFloat32(at) * (1.5 + Math.sin(s / (100 * i))));
        }
    }

    /** A map with all planes of the vessel's own: so much of the rows that there can be, and all of their cells known. */
    function mapOf(share) {
        const young = held.last.get("bathymetry");
        const view = new DataView(young);
        const sizes = afterText(view) + 24;
        const nPlanes = view.getInt32(sizes);
        let texts = sizes + 12;
        for (let i = 0; i < 2 * nPlanes; i++) {
            texts = afterText(view, texts);
        }
        const nRows = Math.max(1, Math.round(nCells * share));
        const frame = new ArrayBuffer(texts + 4 * nPlanes * nRows * nCells);
        new Uint8Array(frame).set(new Uint8Array(young, 0, texts));
        const made = new DataView(frame);
        made.setInt32(sizes + 4, nRows);
        made.setInt32(sizes + 8, nCells);
        for (let at = texts, i = 0; at < frame.byteLength; at += 4, i++) {
            made.setFloat32(at, 8 + 3 * Math.sin(i / 997) + Math.sin(i / nCells / 17));
        }
        return frame;
    }
}

/** From the press of the stop in the page to the first command without thrust on the vehicle's bus. */
async function stop(world, station, url) {
    const page = await world.page(station.url, { isWatched: false });
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
