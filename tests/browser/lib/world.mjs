// What a scenario runs in: hubs, vessels, stations and pages, all on loopback with ports that the system gives; whatever was
// started is ended by its id.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { PATIENCE_MS, within } from "./patience.mjs";
import { Bus, Link } from "./tcpq.mjs";
import { watch } from "./watch.mjs";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
/** The program under test. None is guessed: one that was left behind by another build would be tested. */
export const BOWLINE = process.env.BOWLINE;
if (BOWLINE === undefined)
    throw new Error("expected the program under test in BOWLINE, found none: make browser sets it");
/** Screenshots and logs, to be looked at. */
export const OUT = path.join(ROOT, "target/browser");

/** A scenario that takes longer than this hangs: the longest one takes a third of it. */
const SCENARIO_MS = 300_000;

/** Without the flags for networks a browser asks its maker's hosts for things; as root it needs no sandbox of its own. */
const FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/** The settings of a vessel on a machine on which it may have to wait for its turn. */
const PATIENT = ["--set", "gate.place_ttl=20s"];

const LAPTOP = { width: 1366, height: 768 };

/** One browser for all worlds of a process: that of a world which found none and ends it, or one that was opened before. */
let browser;
let nVessels = 0;

export async function openBrowser(moreFlags = []) {
    browser = await chromium.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: [...FLAGS, ...moreFlags],
    });
    return browser;
}

export async function closeBrowser() {
    const open = browser;
    browser = undefined;
    await open?.close();
}

/** Everything that one scenario has started. */
export class World {
    #ends = [];
    #pages = [];
    #hasOpened = false;
    /** What pages complained of: a scenario that expects something takes it out. */
    complaints = [];
    folder = mkdtempSync(path.join(tmpdir(), "bowline-browser-"));

    /** One step of a scenario: a promise of its own. What comes after a broken one makes no sense, and is left out. */
    async step(t, name, promise) {
        let error;
        await t.test(name, async () => {
            try {
                await promise();
            } catch (caught) {
                error = caught;
                throw caught;
            }
        });
        if (error !== undefined) {
            throw new Error(`the scenario ends here, after: ${name}`);
        }
    }

    /** Runs a scenario in a world of its own, and takes that apart whatever happens; also one that does not end. */
    static async run(scenario, { withinMs = SCENARIO_MS } = {}) {
        const world = new World();
        let error;
        try {
            await within(scenario(world), "the end of the scenario", withinMs);
            world.#check();
        } catch (caught) {
            error = caught;
            await world.#shoot();
        }
        await world.close();
        if (error !== undefined) {
            throw error;
        }
    }

    /** What the pages showed when it went wrong. */
    async #shoot() {
        const folder = outFolder("failures");
        for (const [i, page] of this.#pages.entries()) {
            const file = path.join(folder, `${process.pid}-${this.#ends.length}-${i}.png`);
            await page.screenshot({ path: file, timeout: 5_000 }).then(
                () => console.error(`as it was then: ${path.relative(ROOT, file)}`),
                () => undefined,
            );
        }
    }

    #check() {
        if (this.complaints.length > 0) {
            const found = [...new Set(this.complaints)].slice(0, 5);
            throw new Error(`expected a page without complaints, found: ${found.join("; ")}`);
        }
    }

    async close() {
        // Pages first, then what they looked at, all at once: a robot takes a while to stop its components in order.
        await Promise.all(this.#pages.map((page) => page.context().close()));
        await Promise.all([...this.#ends.map((end) => end()), this.#hasOpened && closeBrowser()]);
        rmSync(this.folder, { recursive: true, force: true });
    }

    /** A file of this scenario's own. */
    file(name, text) {
        const file = path.join(this.folder, name);
        if (text !== undefined) {
            writeFileSync(file, text);
        }
        return file;
    }

    /** Starts the program: its output, and a promise that is broken if it ends. */
    #spawn(args) {
        const child = spawn(BOWLINE, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
        const said = [];
        const heard = new Set();
        // A frozen process must receive the signal that ends it.
        this.#ends.push(() => {
            if (isRunning(child)) {
                signalAll(child.pid, "SIGCONT");
            }
            return end(child);
        });
        for (const [name, output] of [
            ["stdout", child.stdout],
            ["stderr", child.stderr],
        ]) {
            createInterface({ input: output }).on("line", (line) => {
                said.push(line);
                said.splice(0, said.length - 200);
                for (const hear of heard) {
                    hear(name, line);
                }
            });
        }
        const complaint = (why) => new Error(`bowline ${args.join(" ")}: ${why}: ${said.join("\n")}`);
        const failed = new Promise((_, reject) => {
            child.once("error", (error) => reject(complaint(String(error))));
            child.once("exit", (code, signal) => reject(complaint(`it ended with ${code ?? signal}`)));
        });
        // Whether that is an error depends on when it is.
        failed.catch(() => undefined);
        return { child, said, heard, failed };
    }

    /** Starts the program and waits until it has printed a line that matches; the match and the process. */
    async start(args, expected, { stream = "stdout" } = {}) {
        const { child, said, heard, failed } = this.#spawn(args);
        const matched = new Promise((resolve) => {
            const hear = (name, line) => {
                const found = name === stream || stream === "any" ? line.match(expected) : null;
                if (found !== null) {
                    heard.delete(hear);
                    resolve(found);
                }
            };
            heard.add(hear);
        });
        const match = await within(Promise.race([matched, failed]), `${expected} of bowline ${args.join(" ")}`);
        return { child, pid: child.pid, said, end: (signal) => end(child, signal), match };
    }

    /** A hub; its URL. */
    async hub() {
        const { match } = await this.start(["hub", "tcpq://127.0.0.1:0"], /tcpq:\/\/[\d.]+:\d+/, { stream: "any" });
        return match[0];
    }

    /** A client of a hub, to look at what is on the bus. */
    async bus(url, pattern) {
        const bus = await Bus.open(url, pattern);
        this.#ends.push(() => bus.close());
        return bus;
    }

    /** A link between two hubs. */
    async link(vehicleUrl, stationUrl, prefix = "") {
        const link = await Link.join(vehicleUrl, stationUrl, prefix);
        this.#ends.push(() => link.close());
        return link;
    }

    /**
     * The harbour vessel with nothing aboard but the gate, in simulation. The lease is longer than on the water, and so is the
     * time for which the fence is kept by the last known place, because machines that test do other things too; how old a
     * direct command may get is as it is there. A whole one has as many processes as on the water, and publishes as much.
     */
    async vessel(url, { ranks = [], lease = "4s", isWhole = false, args = [] } = {}) {
        // A machine has one supervisor for each robot's name, and others may run one too.
        nVessels += 1;
        const name = `vessel${process.pid}n${nVessels}`;
        const file = this.file(`${name}.toml`, robotFile("harbour.toml", name, { ranks, isWhole }));
        const bus = await this.bus(url, "gate\\.state");
        const heard = bus.next((channel) => (channel === "gate.state" ? true : undefined), { what: "gate.state" });
        // It prints nothing by itself: its output is on the bus.
        const { child, failed } = this.#spawn([
            "run",
            file,
            "--source",
            "sim",
            "-l",
            url,
            ...PATIENT,
            "--set",
            `gate.lease=${lease}`,
            ...args,
        ]);
        await Promise.race([heard, failed]);
        bus.close();
        return {
            /** Holds all its processes still, the one that watches over them first. */
            freeze: () => signalAll(child.pid, "SIGSTOP"),
            thaw: () => signalAll(child.pid, "SIGCONT"),
        };
    }

    /** A station; its address. */
    async station(args, listen = "127.0.0.1:0") {
        const { match, ...process } = await this.start(
            [
                "station",
                "--listen",
                listen,
                "--name",
                "bridge",
                "--audit",
                this.file(`audit-${this.#ends.length}.mcap`),
                ...args,
            ],
            /^station: (https?:\/\/\S+)/,
        );
        return { ...process, url: match[1] };
    }

    /**
     * A page of a station, in a browser profile of its own. A request to any other host is a complaint: on the water
     * there is no other. `prepare` is called with the page before it is loaded.
     */
    async page(url, { hash = "", viewport = LAPTOP, user, prepare, isWatched = true, ...more } = {}) {
        if (browser === undefined) {
            this.#hasOpened = true;
            await openBrowser();
        }
        const context = await browser.newContext({ viewport, reducedMotion: "reduce", ...more });
        context.setDefaultTimeout(PATIENCE_MS);
        if (isWatched) {
            await context.addInitScript(watch);
        }
        const page = await context.newPage();
        this.#pages.push(page);
        page.on("pageerror", (error) => this.complaints.push(String(error)));
        page.on("console", (message) => {
            if (message.type() === "error") {
                this.complaints.push(message.text());
            }
        });
        const { host } = new URL(url);
        const note = (address) => {
            const { protocol, host: asked } = new URL(address);
            if (asked !== host && !["data:", "blob:"].includes(protocol)) {
                this.complaints.push(`asked another host than the station: ${address}`);
            }
        };
        context.on("request", (request) => note(request.url()));
        page.on("websocket", (socket) => note(socket.url()));
        await prepare?.(page);
        await page.goto(url + hash);
        if (user !== undefined) {
            await logIn(page, user);
        }
        return page;
    }

    /** What a scenario brought about and pages rightly complain of. */
    expectComplaints(pattern) {
        this.complaints = this.complaints.filter((it) => !pattern.test(it));
    }
}

const isRunning = (child) => child.exitCode === null && child.signalCode === null;

async function end(child, signal) {
    if (!isRunning(child)) {
        return;
    }
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGCONT");
    child.kill(signal ?? "SIGINT");
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    await gone;
    clearTimeout(timer);
}

/** Signals a process and all that it started; supervisors first, or they would start the others anew. */
function signalAll(pid, signal) {
    const parents = readdirSync("/proc")
        .filter((it) => /^\d+$/.test(it))
        .map((it) => [Number(it), parentOf(it)]);
    const family = [pid];
    for (const member of family) {
        family.push(...parents.filter(([, parent]) => parent === member).map(([it]) => it));
    }
    for (const member of signal === "SIGCONT" ? family.reverse() : family) {
        try {
            process.kill(member, signal);
        } catch {
            // It is gone already.
        }
    }
}

/** The parent of a process, from `PID (NAME) STATE PARENT ...`; undefined if it is gone. */
function parentOf(pid) {
    try {
        return Number(
            readFileSync(`/proc/${pid}/stat`, "utf8")
                .replace(/^.*\) \S /s, "")
                .split(" ")[0],
        );
    } catch {
        return undefined;
    }
}

/** A machine that runs browsers beside vessels keeps them waiting: no scenario is about how soon a hang is noticed. */
const HEARTBEAT = 'heartbeat = { within = "5s" }\n';

/**
 * A robot of ours without its scripted operator and without its link: pages take their place. It runs in two processes, the
 * vessel and the world that it is in, and not in one for each component: no page can see that, and machines that test have fewer
 * cores than a vessel has components.
 */
function robotFile(file, name, { ranks, isWhole }) {
    const text = readFileSync(path.join(ROOT, "robots", file), "utf8");
    const sections = text
        .split(/^(?=\[)/m)
        .filter((it) => !/^\[(component\.link|sim\.component\.operator)\b/.test(it))
        .map((it) => {
            if (isWhole) {
                return it;
            }
            // Maps of the bottom take long to make, and nothing that moves the vessel should wait for them.
            const process = /^\[(sim\.|component\.bathymetry)/.test(it) ? "world" : "vessel";
            return it.replace(/^process = .*\n/m, "").replace(/^kind = .*$/m, `$&\nprocess = "${process}"`);
        });
    const external = ["lease_request", "stop_command", "task_command", "direct_command"]
        .map((type) => `"operator.${type.split("_")[0]}" = "bowline.${type}_t"`)
        .join(", ");
    return sections
        .join("")
        .replaceAll(', "link"', "")
        .replace(/"thrusters", "link",/g, '"thrusters",')
        .replace(/^\[robot\]$/m, `[robot]\n${HEARTBEAT}external = { ${external} }`)
        .replace(/^name = "harbour"$/m, `name = "${name}"`)
        .replace(/^ranks = .*$/m, `ranks = ${JSON.stringify(ranks)}`)
        .replaceAll('"../', `"${ROOT}/`);
}

/** Logs in, where the station asks for it. */
export async function logIn(page, user) {
    await page.getByLabel("Name").fill(user);
    await page.getByLabel("Password").fill(passwordOf(user));
    await page.getByRole("button", { name: "Log in" }).click();
    await page.locator("dialog.login").waitFor({ state: "hidden" });
}

export const passwordOf = (user) => `${user}-and-a-long-word`;

/** Thrust to both sides, from a thrust_t. */
export function thrustOf(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return { port: view.getFloat64(16), starboard: view.getFloat64(24) };
}

/** What a gate reports, as far as scenarios look at it, from a gate_t. */
export function gateOf(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // Behind the fingerprint.
    let at = 8;
    const skip = (n) => (at += n);
    const byte = () => view.getInt8(skip(1) - 1);
    const text = () => {
        const length = view.getUint32(at);
        const found = Buffer.from(bytes).toString("utf8", at + 4, at + 3 + length);
        skip(4 + length);
        return found;
    };
    const utime = Number(view.getBigInt64(skip(8) - 8));
    text();
    const state = STATES[byte()];
    skip(1 + 16);
    text();
    text();
    const holder = text();
    skip(8 + 4 + 8 + 8);
    text();
    skip(8);
    return { utime, state, holder, isStopped: byte() !== 0, stoppedBy: text(), stopReason: text() };
}

/** The states of a gate_t, in the order of its constants. */
const STATES = ["stopped", "idle", "operated", "autonomous", "contingency"];

/** A folder for pictures. */
export function outFolder(...names) {
    const folder = path.join(OUT, ...names);
    mkdirSync(folder, { recursive: true });
    return folder;
}

/** A password as the file of users has it. */
export function hashOf(user) {
    const run = spawnSync(BOWLINE, ["station", "password"], { input: `${passwordOf(user)}\n`, encoding: "utf8" });
    if (run.status !== 0) {
        throw new Error(`bowline station password: ${run.stderr}`);
    }
    return run.stdout.trim();
}
