// Several vehicles at one station, experiments, and messages without a panel.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { goTo, panels, press, says, seen, take, takeAndClear, turnTo, until } from "../lib/bridge.mjs";
import { portray } from "../lib/portrait.mjs";
import { BOWLINE, gateOf, World } from "../lib/world.mjs";

test("two vehicles at one station", (t) =>
    World.run(async (world) => {
        const [ashore, heronUrl, ternUrl] = [await world.hub(), await world.hub(), await world.hub()];
        await Promise.all([world.vessel(heronUrl), world.vessel(ternUrl)]);
        const tern = await world.link(ternUrl, ashore, "tern.");
        const station = await world.station(["-l", ashore, "--chart", "worlds/harbour.geojson"]);
        const page = await world.page(station.url);
        const vehicles = page.getByRole("group", { name: "Vehicle" });
        const choose = (name) => vehicles.getByRole("button", { name: new RegExp(`^${name}`) }).click();

        await world.step(
            t,
            "are distinguished: one that comes later does not take the place of the first",
            async () => {
                const commanded = new Set();
                const bus = await world.bus(ashore, ".*operator\\..*");
                bus.listen((channel) => commanded.add(channel));
                await takeAndClear(page);
                await world.link(heronUrl, ashore, "heron.");
                // By name it comes before the one that is operated.
                await vehicles.getByRole("button", { name: /^heron/ }).waitFor();
                await says(seen(page).lease, "the lease is yours");
                await says(seen(page).state, "Idle");
                await goTo(page, [160, 60]);
                await seen(page).stop.click();
                await says(seen(page).state, "Stopped");
                await vehicles.getByRole("button", { name: /^tern/, pressed: true }).waitFor();
                await until(
                    page,
                    () =>
                        !document.querySelector(".vehicles [data-prefix='heron.']").textContent.includes("no messages"),
                );
                assert.deepEqual([...commanded].sort(), [
                    "tern.operator.lease",
                    "tern.operator.stop",
                    "tern.operator.task",
                ]);
                await press(page, "Clear the stop");
                await says(seen(page).state, "Idle");
                await press(page, "Hand over");
                await says(seen(page).lease, "the lease is free");
                bus.close();
            },
        );

        await world.step(t, "have the same panels, each for its own channels", async () => {
            await choose("tern");
            await hasPanels(page, "tern");
            const ofTern = await panels(page);
            await choose("heron");
            await hasPanels(page, "heron");
            const ofHeron = await panels(page);
            assert.deepEqual(
                ofTern.map((it) => it.replace("tern.", "")),
                ofHeron.map((it) => it.replace("heron.", "")),
            );
        });

        await world.step(t, "are commanded one by one, and stopped one by one", async () => {
            await takeAndClear(page);
            await choose("tern");
            await take(page);
            await says(seen(page).state, "Idle");
            await seen(page).stop.click();
            await says(seen(page).state, "Stopped");
            await choose("heron");
            await says(seen(page).state, "Idle");
        });

        await world.step(t, "are stopped all at once, each by its own gate, whichever is in front", async () => {
            await choose("tern");
            await press(page, "Clear the stop");
            await says(seen(page).state, "Idle");
            const gates = Object.fromEntries(
                await Promise.all(
                    Object.entries({ heron: heronUrl, tern: ternUrl }).map(async ([name, url]) => [
                        name,
                        await world.bus(url, "gate\\.state"),
                    ]),
                ),
            );
            const gateThat = (name, is, what) =>
                gates[name].next((_, bytes) => (is(gateOf(bytes)) ? gateOf(bytes) : undefined), {
                    what: `a gate of ${name} that ${what}`,
                });
            const each = (is, what) => Promise.all(Object.keys(gates).map((name) => gateThat(name, is, what)));
            await each((it) => it.state === "idle" && !it.isStopped, "is idle");
            const stopped = each((it) => it.isStopped, "is stopped");
            await page.keyboard.press("Shift+Escape");
            for (const { picked } of await stopped) {
                assert.deepEqual(
                    [picked.state, picked.stoppedBy, picked.stopReason],
                    ["stopped", "bridge", "keys Shift Esc, for all vehicles"],
                );
            }
            await says(seen(page).state, "Stopped");
            await choose("heron");
            await says(seen(page).state, "Stopped");
            Object.values(gates).forEach((it) => it.close());
        });

        await world.step(t, "offer experiments, and a monitor for one is the same again for the other", async () => {
            const monitor = page.getByLabel("Monitor");
            await monitor.selectOption("vessel");
            // What smells the water is no part of it.
            await until(page, () => document.querySelectorAll("[data-panel=spectrum]").length === 0);
            const ofHeron = await panels(page);
            for (const panel of ["map", "mission", "teleop", "waterfall heron.multibeam.ping"]) {
                assert.ok(ofHeron.includes(panel), `expected ${panel}, found ${ofHeron.join()}`);
            }
            await choose("tern");
            await until(page, () =>
                /tern/.test(document.querySelector("[data-panel=waterfall] .subtitle")?.textContent),
            );
            assert.deepEqual(
                (await panels(page)).map((it) => it.replace("tern.", "heron.")),
                ofHeron,
            );
            await says(seen(page).state, "Stopped");
            const address = new URL(page.url()).hash;
            assert.match(address, /vehicle=tern/);
            const second = await world.page(station.url, { hash: address });
            await until(second, () =>
                /tern/.test(document.querySelector("[data-panel=waterfall] .subtitle")?.textContent),
            );
            await until(second, () => document.querySelector("select.monitor")?.value === "vessel");
            await monitor.selectOption("");
            await until(page, () => document.querySelectorAll("[data-panel=spectrum]").length === 1);
        });

        await world.step(t, "raise an alarm when one out of view falls silent", async () => {
            await choose("heron");
            tern.isCut = true;
            const alarm = page
                .locator(".alarms li", { hasText: "tern" })
                .filter({ hasText: "sends no messages any more" });
            await alarm.waitFor();
            await portray(page, "alarm", { shows: alarm });
            await says(vehicles.getByRole("button", { name: /^tern/ }), /no messages/);
            await alarm.getByRole("button", { name: /^Ack/ }).click();
            await until(page, () => document.querySelector(".alarms li[data-acknowledged]") !== null);
        });
    }));

/** Waits until everything that a vessel shows is there: some of its sensors take a while. */
async function hasPanels(page, vehicle) {
    await until(
        page,
        (name) =>
            document.querySelector("[data-panel=map]") !== null &&
            ["spectrum", "camera", "waterfall"].every((it) =>
                document.querySelector(`[data-panel=${it}] .subtitle`)?.textContent.startsWith(`${name}.`),
            ),
        vehicle,
    );
}

test("a message of a type that the page was not built with", (t) =>
    World.run(async (world) => {
        const url = await world.hub();
        const types = world.file("buoy_t.lcm", TYPE);
        const station = await world.station(["-l", url]);
        const page = await world.page(station.url, { hash: "#sensors" });
        const publish = (json) => {
            const args = ["pub", "-l", url, "--types", types, "buoy.report", "test.buoy_t", json];
            const run = spawnSync(BOWLINE, args, { encoding: "utf8" });
            assert.equal(run.status, 0, run.stderr);
        };
        await until(page, () => document.querySelector(".source")?.textContent === "Live");
        publish('{"utime": 1, "swell_m": 1.25, "name": "seven"}');

        await world.step(t, "shows up by itself, with its fields and their units", async () => {
            const panel = page.locator("section[data-panel=raw]", {
                has: page.getByText("buoy.report", { exact: true }),
            });
            await panel.waitFor();
            await says(panel.locator("dd"), "1.25 m");
            await says(panel.locator("dd"), '"seven"');
            await says(panel.locator(".type"), "test.buoy_t");
        });

        await world.step(t, "is in the message inspector too, and can be found there", async () => {
            await turnTo(page, "Messages");
            await page.getByLabel("Filter channels or types").fill("buoy_t");
            await says(page.locator(".inspector .caption"), /^1 of /);
            await page.getByRole("button", { name: "buoy.report" }).click();
            await says(page.locator(".inspector .detail dt"), "swell_m");
        });
    }));

const TYPE = `package test;

// The messages of a buoy.
struct buoy_t {
    int64_t utime;   // when, microseconds since the epoch
    double swell_m;  // height of the swell, metres
    string name;     // of the buoy
}
`;
