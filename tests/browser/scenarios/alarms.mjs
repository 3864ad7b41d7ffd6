// Alarms of the vehicle: one list at two stations, after a reload, on the command line and in the replay.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { press, says, seen } from "../lib/bridge.mjs";
import { portray } from "../lib/portrait.mjs";
import { BOWLINE, ROOT, World } from "../lib/world.mjs";

const N_ALARMS = 13;
const TEXT = "a seal of the hull is wet";

/** The first bytes of `alarm_t`, by the compiler. */
function fingerprint() {
    const args = ["types", "fingerprint", "types/alarm_t.lcm"];
    const said = execFileSync(BOWLINE, args, { cwd: ROOT, encoding: "utf8" });
    return BigInt(said.match(/bowline\.alarm_t (0x[0-9a-f]{16})/)[1]);
}

/** A raised alarm, as any program may publish one. */
function alarm(prefix, i) {
    const head = Buffer.alloc(24);
    head.writeBigUInt64BE(prefix);
    head.writeBigInt64BE(2_000_000n, 8);
    head.writeBigInt64BE(1_000_000n, 16);
    const text = (it) => {
        const bytes = Buffer.from(`${it}\0`);
        const length = Buffer.alloc(4);
        length.writeInt32BE(bytes.length);
        return Buffer.concat([length, bytes]);
    };
    const names = ["", "", `seal${i}`, "wet"].map(text);
    const codes = Buffer.from([1 + (i % 3), 1]);
    const words = [TEXT, "the compartment fills", "pump, and turn back"].map(text);
    return Buffer.concat([head, ...names, codes, ...words]);
}

const rows = (page) => page.locator(".alarms li", { hasText: TEXT });

/** The list as the command line has it. It ends with 1 where something is wrong. */
function listed(place) {
    const options = { cwd: ROOT, encoding: "utf8" };
    try {
        return execFileSync(BOWLINE, ["alarms", "--json", "-l", place], options);
    } catch (error) {
        assert.equal(error.status, 1, String(error));
        return error.stdout;
    }
}

const seals = (text) =>
    text
        .trim()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line))
        .filter((it) => it.cause === TEXT);

test("alarms of a vessel", (t) =>
    World.run(async (world) => {
        const url = await world.hub();
        await world.vessel(url);
        const log = world.file("alarms.lcm");
        const recorder = await world.start(["log", "record", "-l", url, log], /./, { stream: "any" });
        const [one, other] = [await world.station(["-l", url]), await world.station(["-l", url])];
        const [page, second] = [await world.page(one.url), await world.page(other.url)];
        const bus = await world.bus(url, "nothing");
        const prefix = fingerprint();
        const raise = () => {
            for (let i = 0; i < N_ALARMS; i++) {
                bus.publish("bowline.alarm", alarm(prefix, i));
            }
        };
        raise();
        const raising = setInterval(raise, 1_000);
        t.after(() => clearInterval(raising));

        await world.step(t, "are listed at both stations, the worst first, with what to do", async () => {
            for (const it of [page, second]) {
                await rows(it)
                    .nth(N_ALARMS - 1)
                    .waitFor();
                assert.match(await rows(it).first().textContent(), /pump, and turn back/);
                assert.match(await rows(it).first().getAttribute("class"), /alarm/);
            }
            await portray(page, "alarms", { shows: rows(page) });
        });

        await world.step(t, "are all acknowledged at once, under the name of the station, on every page", async () => {
            await press(page, "Acknowledge all");
            for (const it of [page, second]) {
                await rows(it)
                    .filter({ hasText: "known to bridge" })
                    .nth(N_ALARMS - 1)
                    .waitFor();
            }
            await page.reload();
            await rows(page)
                .filter({ hasText: "known to bridge" })
                .nth(N_ALARMS - 1)
                .waitFor();
            const found = seals(listed(url));
            assert.equal(found.length, N_ALARMS);
            assert.deepEqual([...new Set(found.map((it) => it.acknowledged_by))], ["bridge"]);
        });

        await world.step(t, "are shown in the replay as they were", async () => {
            await recorder.end("SIGINT");
            const player = await world.station(["--log", log]);
            const again = await world.page(player.url);
            await seen(again).replay.waitFor();
            await rows(again)
                .filter({ hasText: "known to bridge" })
                .nth(N_ALARMS - 1)
                .waitFor();
            assert.equal(seals(listed(log)).length, N_ALARMS);
        });

        await world.step(t, "are marked where their source reports them no more", async () => {
            bus.publish("bowline.alarm", alarm(prefix, 99));
            await says(rows(page).filter({ hasText: "seal99" }), /not refreshed/);
            assert.equal(seals(listed(url)).find((it) => it.source === "seal99").state, "not refreshed");
        });
    }));
