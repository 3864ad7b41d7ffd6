// A survey from the first click to the last lane, and the same again from its log.

import assert from "node:assert/strict";
import { test } from "node:test";
import { panels, Pointer, press, readout, says, seen, takeAndClear, turnTo, until } from "../lib/bridge.mjs";
import { portray } from "../lib/portrait.mjs";
import { hasPicture, isDrawn } from "../lib/watch.mjs";
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
        // As fast as it can: waiting for it teaches nothing.
        const vessel = await world.vessel(url, { args: ["--set", "helm.speed_mps=2.5"] });
        const log = world.file("survey.lcm");
        const recorder = await world.start(["log", "record", "-l", url, log], /./, { stream: "any" });
        const station = await world.station(["-l", url, "--chart", "worlds/harbour.geojson"]);
        const page = await world.page(station.url);
        let [live, nKnown] = [undefined, Number.NaN];

        await world.step(t, "an area that is clicked corner by corner is surveyed", async () => {
            await takeAndClear(page);
            await survey(page);
            await says(seen(page).state, "Autonomous");
            await says(seen(page).level, "Level 4 · Objective");
            await page.locator(".map .legend", { hasText: /depth .* % known/ }).waitFor();
            nKnown = await page.evaluate(() => globalThis.nCells);
        });

        await world.step(t, "the map shows vehicle, track, lanes, leg, doubt and fence", async () => {
            await page.locator(".map-tools").getByRole("button", { name: "Whole" }).click();
            await isDrawn(page, "map", [
                ["fill", "--vehicle"],
                ["stroke", "--track"],
                ["stroke", "--lane"],
                ["stroke", "--leg"],
                ["fill", "--ellipse"],
                ["stroke", "--fence", "dashed"],
            ]);
        });

        await world.step(t, "sonar, camera and chemistry have something to show", async () => {
            await turnTo(page, "Sensors");
            await hasPictures(page);
            await turnTo(page, "Operate");
        });

        await world.step(t, "the area is surveyed to the end, and more of the bottom is known", async () => {
            await page.waitForFunction(
                () => /^Done/.test(document.querySelector(".mission .headline")?.textContent ?? ""),
                undefined,
                { timeout: 180_000, polling: 200 },
            );
            const legs = await readout(page, "Legs").textContent();
            assert.match(legs, /^(\d+) of \1$/);
            const nKnownNow = await page.evaluate(() => globalThis.nCells);
            t.diagnostic(`cells of the bottom on the map: ${nKnown} at first, then ${nKnownNow}`);
            assert.ok(nKnown > 0 && nKnownNow > 1.5 * nKnown, `expected more than ${nKnown} cells, found ${nKnownNow}`);
            // It lies still now, so that little more of the bottom is known with each second.
            await until(page, isSlow, SLOW_MPS);
            await until(page, hasHeardMap, await page.evaluate(() => performance.now()));
            // From here on nothing is published: what the page shows is what the log ends with.
            vessel.freeze();
            await until(page, () => document.querySelector(".panel-vitals")?.dataset.fresh === "stale");
            live = await displays(page);
            assert.ok(live.Operate.panels.includes("waterfall multibeam.ping"), live.Operate.panels.join());
            assert.match(live.Operate.values.Depth, /^\d/);
        });

        await world.step(t, "the recorded log is shown in the same displays, and marked as a replay", async () => {
            await recorder.end("SIGINT");
            const player = await world.station(["--log", log, "--chart", "worlds/harbour.geojson"]);
            const again = await world.page(player.url);
            await seen(again).replay.waitFor();
            await says(again.locator(".source"), "Replay");
            await playToEnd(again);
            await says(seen(again).mission, /^Done/);
            const replayed = await displays(again);
            for (const name of ["Operate", "Sensors"]) {
                const missing = live[name].panels.filter((it) => !replayed[name].panels.includes(it));
                assert.deepEqual(missing, [], `on ${name}`);
                const [then, now] = [replayed[name].values, live[name].values];
                // The bottom is published once a second and drawn when there is time: the last message may be missing.
                const legends = [then, now].map((it) => (it[LEGEND] ?? "").match(/[\d.]+/g)?.map(Number) ?? []);
                legends[0].forEach((it, i) => assert.ok(Math.abs(it - legends[1][i]) <= 2, then[LEGEND]));
                assert.deepEqual({ ...then, [LEGEND]: "" }, { ...now, [LEGEND]: "" }, `on ${name}`);
            }
            await turnTo(again, "Sensors");
            await hasPictures(again);
            await turnTo(again, "Operate");
            await portray(again, "replay", { shows: seen(again).replay });
        });

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

const LEGEND = ".map .legend";

/** Slower than the vessel surveys; the current moves it all the time, metres a second. */
const SLOW_MPS = 1;

/** Runs in the page. */
function isSlow(mps) {
    const speed = [...document.querySelectorAll(".vitals .readout")].find((it) => it.textContent.startsWith("Speed"));
    return Number(speed.querySelector(".value").textContent) < mps;
}

/** Runs in the page: whether the bottom was published since. */
function hasHeardMap(sinceMs) {
    return [...globalThis.heardMs].some(([name, ms]) => name.startsWith("bathymetry") && ms > sinceMs);
}

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

/** The panels of both pages that are made of messages, and their texts. */
async function displays(page) {
    const found = {};
    for (const name of ["Sensors", "Operate"]) {
        await turnTo(page, name);
        await until(page, (it) => document.querySelector("main").className.includes(`page-${it}`), name.toLowerCase());
        await until(page, areFilled);
        found[name] = { panels: await panels(page), values: await page.evaluate(valuesOf) };
    }
    return found;
}

/** Runs in the page: whether every panel that is there has all of its text. */
function areFilled() {
    const texts = [
        ".vitals .row .value",
        ".mission .headline",
        ".map .legend",
        "[data-panel=camera] .caption",
        "[data-panel=waterfall] .caption",
        "[data-panel=spectrum] .curves .value",
    ].flatMap((it) => [...document.querySelectorAll(it)].filter((it) => it.checkVisibility()));
    return texts.length >= 3 && texts.every((it) => !["", "–"].includes(it.textContent));
}

/** Runs in the page: the texts of its panels about the vehicle, without their ages. */
function valuesOf() {
    const values = {};
    for (const it of document.querySelectorAll(".vitals .readout, .mission .readout")) {
        // How old it is differs: the one has just ended, the other stands at its end.
        const label = it.querySelector(".label").textContent.replace(/ [\d.]+ s ago$/, "");
        values[label] = it.querySelector(".value").textContent;
    }
    for (const selector of [
        ".mission .headline",
        ".map .legend",
        "[data-panel=camera] .caption",
        "[data-panel=waterfall] .caption",
        "[data-panel=spectrum] .curves",
    ]) {
        const it = document.querySelector(selector);
        if (it !== null) {
            values[selector] = it.textContent.replace(" (stale)", "");
        }
    }
    return values;
}

/** What has no text is drawn: echoes and pictures in many shades, chemistry in the colours of its curves. */
async function hasPictures(page) {
    await hasPicture(page, "waterfall", 16);
    await hasPicture(page, "camera", 16);
    await isDrawn(page, "spectrum", [
        ["stroke", "--curve-1"],
        ["stroke", "--curve-2"],
    ]);
}

async function seek(page, share) {
    await page.getByLabel("Place in the log").fill(String(share));
}

/** The last tenth, ten times as fast: what is published once a second must be received too, not only each channel's last message. */
async function playToEnd(page) {
    await page.locator(".player").getByLabel("Rate").selectOption("10");
    await seek(page, 900);
    await until(page, () => /ended/.test(document.querySelector(".player .where")?.textContent ?? ""));
}
