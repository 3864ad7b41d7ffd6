// A vehicle behind a real link, with keys and a path that is too thin for all that it publishes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { goTo, says, seen, takeAndClear } from "../lib/bridge.mjs";
import { BOWLINE, ROOT, thrustOf, World } from "../lib/world.mjs";

/** Enough for commands and states, and not for pictures and maps. */
const THIN_KBPS = 400;

test("a vehicle behind a thin link", (t) =>
    World.run(async (world) => {
        const [aboard, ashore] = [await world.hub(), await world.hub()];
        await world.vessel(aboard, { isWhole: true });
        const ashoreEnd = await join(world, aboard, ashore);
        const station = await world.station(["-l", ashore, "--chart", "worlds/harbour.geojson"]);
        const page = await world.page(station.url);
        const bus = await world.bus(aboard, "thrust");

        await world.step(t, "is commanded over it", async () => {
            await takeAndClear(page);
            const moves = bus.next(
                (_, bytes) => (thrustOf(bytes).port !== 0 || thrustOf(bytes).starboard !== 0 ? true : undefined),
                { what: "thrust" },
            );
            await goTo(page, [160, 60]);
            await moves;
        });

        await world.step(t, "shows how good each path is: round trip, capacity and loss", async () => {
            const ends = page.locator(".link .headline");
            await says(ends, /^bridge to harbour/);
            await says(ends, /^harbour to bridge/);
            const path = page.locator(".link .paths li[data-good]", { hasText: "quic 127.0.0.1" });
            await says(path, /\(in use\)/);
            await says(path, /ready/);
            await says(path, /\d+ ms · [1-9]\d* kbit\/s · \d+\.\d % lost/);
        });

        await world.step(t, "shows what it had no room for, by stream", async () => {
            const streams = page.locator(".link .paths li", { hasText: /dropped/ });
            await streams.first().waitFor();
            const [first] = await streams.allTextContents();
            assert.match(first, /^\S+: [1-9]\d* dropped/);
        });

        await world.step(t, "shows when the path is gone", async () => {
            ashoreEnd.child.kill("SIGSTOP");
            await says(page.locator(".link .headline"), /^bridge to harbour \(stale\)/);
            await says(seen(page).state, /^Was /);
            ashoreEnd.child.kill("SIGCONT");
            await says(seen(page).state, /^(?!Was )/);
        });
    }));

/** Starts both ends of the harbour vessel's link, with keys of their own and one path on this machine; the one ashore. */
async function join(world, aboard, ashore) {
    const fingerprints = Object.fromEntries(
        ["vehicle", "station"].map((it) => {
            const run = spawnSync(BOWLINE, ["link", "keygen", world.file(`${it}.key`)], { encoding: "utf8" });
            assert.equal(run.status, 0, run.stderr);
            return [it, run.stdout.trim()];
        }),
    );
    const end = async (name, peer, bus, meet, expected) => {
        const text = readFileSync(path.join(ROOT, "links", `harbour-${name}.toml`), "utf8")
            .replace(/^key = "sha256:.*"$/m, `key = "${fingerprints[peer]}"`)
            .replace(/^\[link\]$/m, `[link]\nbus = "${bus}"`)
            .replace(/^\[\[path\]\][^[]*/gm, "");
        const file = world.file(`${name}.toml`, `${text}\n[[path]]\ncarrier = "quic"\n${meet}\n`);
        return world.start(["link", file], expected, { stream: "any" });
    };
    const listening = await end(
        "vehicle",
        "station",
        aboard,
        `listen = "127.0.0.1:0"\nlimit_kbps = ${THIN_KBPS}`,
        /listens on quic (127\.0\.0\.1:\d+)/,
    );
    const connect = `connect = "${listening.match[1]}"`;
    return end("station", "vehicle", ashore, connect, /connects to quic/);
}
