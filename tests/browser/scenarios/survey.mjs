// A survey from the first click to the last lane, and the same again from its log.

import assert from "node:assert/strict";
import { test } from "node:test";
import { panels, Pointer, press, readout, says, seen, takeAndClear, turnTo, until } from "../lib/bridge.mjs";
import { World } from "../lib/world.mjs";

const CORNERS = [
    [74, 24],
    [84, 24],
    [84, 34],
    [74, 34],
];

test("a survey is drawn on the map, done to the end, and replayed in the same displays", (t) =>
    World.run(async (world) => {
        const url = await world.hub();
        await world.vessel(url);
        const log = world.file("survey.lcm");
        const recorder = await world.start(["log", "record", "-l", url, log], /./, { stream: "any" });
        const station = await world.station(["-l", url, "--chart", "worlds/harbour.geojson"]);
        const page = await world.page(station.url);
        let live;

        await world.step(t, "an area that is clicked corner by corner is surveyed to the end", async () => {
            await takeAndClear(page);
            await survey(page);
            await says(seen(page).state, "Autonomous");
            await says(seen(page).level, "Level 4 · Objective");
            await page.locator(".map .legend", { hasText: /depth .* % known/ }).waitFor();
            await page.waitForFunction(
                () => /^Done/.test(document.querySelector(".mission .headline")?.textContent ?? ""),
                undefined,
                { timeout: 180_000, polling: 200 },
            );
            const legs = await readout(page, "Legs").textContent();
            assert.match(legs, /^(\d+) of \1$/);
            live = await displays(page);
            assert.ok(live.Operate.includes("waterfall multibeam.ping"), live.Operate.join());
        });

        await world.step(
            t,
            "the recorded log is shown in the same displays, and says that it is a replay",
            async () => {
                await recorder.end("SIGINT");
                const player = await world.station(["--log", log, "--chart", "worlds/harbour.geojson"]);
                const again = await world.page(player.url);
                await seen(again).replay.waitFor();
                await says(again.locator(".source"), "Replay");
                await playToEnd(again);
                await says(seen(again).mission, /^Done/);
                const replayed = await displays(again);
                for (const name of ["Operate", "Sensors"]) {
                    const missing = live[name].filter((it) => !replayed[name].includes(it));
                    assert.deepEqual(missing, [], `on ${name}`);
                }
            },
        );

        await world.step(t, "a replay can be paused, moved and played faster, and commands nothing", async () => {
            const player = await world.station(["--log", log]);
            const again = await world.page(player.url);
            const bar = again.locator(".player");
            await bar.getByRole("button", { name: "Pause" }).click();
            await bar.getByRole("button", { name: "Play", exact: true }).waitFor();
            assert.equal(await seen(again).stop.isDisabled(), true);
            assert.equal(await again.getByRole("button", { name: "Take control" }).isVisible(), false);
            await seek(again, 500);
            await says(bar.locator(".where"), /paused/);
            await bar.getByLabel("Rate").selectOption("10");
            await bar.getByRole("button", { name: "Play", exact: true }).click();
            await says(bar.locator(".where"), /ended/);
        });
    }));

/** Draws the area with the mouse. */
async function survey(page) {
    const pointer = await Pointer.of(page);
    const [first, ...rest] = CORNERS;
    await pointer.click(first);
    await page.locator(".retask").getByRole("button", { name: "Survey an area from here" }).click();
    await page.getByLabel("Lane spacing, metres").fill("9");
    for (const corner of rest) {
        await pointer.click(corner);
    }
    await press(page, "Survey it");
}

/** The panels of both pages that are made of messages. */
async function displays(page) {
    const found = {};
    for (const name of ["Sensors", "Operate"]) {
        await turnTo(page, name);
        await until(page, (it) => document.querySelector("main").className.includes(`page-${it}`), name.toLowerCase());
        found[name] = await panels(page);
    }
    return found;
}

async function seek(page, share) {
    await page.getByLabel("Place in the log").fill(String(share));
}

/** The last tenth, ten times as fast: what is said once a second must be heard too, not only each channel's last word. */
async function playToEnd(page) {
    await page.locator(".player").getByLabel("Rate").selectOption("10");
    await seek(page, 900);
    await until(page, () => /ended/.test(document.querySelector(".player .where")?.textContent ?? ""));
}
