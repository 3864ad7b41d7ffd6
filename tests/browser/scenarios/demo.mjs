// The demonstrations: a robot, a recorder and a station in one process, and the simulation's own view of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { press, says, seen, steer, take, takeAndClear, turnTo, until } from "../lib/bridge.mjs";
import { portray } from "../lib/portrait.mjs";
import { isDrawn } from "../lib/watch.mjs";
import { World } from "../lib/world.mjs";

async function demo(world, ...names) {
    const args = ["demo", ...names, "--no-open", "--listen", "127.0.0.1:0", "--output", world.file("demo")];
    const { match, ...process } = await world.start(args, /^station: (https?:\/\/\S+)/);
    return { ...process, page: await world.page(match[1]) };
}

/** Where worlds/harbour.toml has the vessel begin, metres. */
const BERTH = [70, 14];

/** How long the simulation has run by its own count, whole seconds. */
async function simulatedS(page) {
    const text = await page.locator(".simulation .headline").textContent();
    const [, min = 0, s] = text.match(/: (?:(\d+) min )?([\d.]+) s of its time/);
    return 60 * Number(min) + Math.floor(Number(s));
}

/** Runs in the page: whether the simulation stands still after so many seconds. */
function standsStillAt(seconds) {
    const text = document.querySelector(".simulation .headline").textContent;
    const [, min = 0, s] = text.match(/^Stands still: (?:(\d+) min )?(\d+) s of its time/) ?? [];
    return 60 * Number(min) + Number(s) === seconds;
}

/** Runs in the page: whether the simulation has run for less than so many seconds. */
function runsForLessThan(seconds) {
    const text = document.querySelector(".simulation .headline").textContent;
    const [, min = 0, s] = text.match(/^Runs: (?:(\d+) min )?([\d.]+) s of its time/) ?? [];
    return 60 * Number(min) + Number(s) < seconds;
}

/** Runs in the page: whether the vessel truly is so far from where it began, by the table of belief and truth. */
function fromBerthM([[x, y], least, most]) {
    const [east, north] = [...document.querySelectorAll(".truth tbody tr")].map((row) =>
        Number(row.querySelectorAll("td")[1].textContent.replaceAll("−", "-")),
    );
    const m = Math.hypot(east - x, north - y);
    return m >= least && m <= most;
}

test("the harbour's demonstration", (t) =>
    World.run(async (world) => {
        const { page, child } = await demo(world);

        await world.step(t, "surveys by itself on a page that marks it as simulated", async () => {
            await says(page.locator(".source"), "Simulated");
            await says(seen(page).state, "Autonomous");
            await says(seen(page).level, "Level 4 · Objective");
            await page.locator(".map .legend", { hasText: /depth/ }).waitFor();
        });

        await world.step(t, "is stopped by a person, taken over, and given back to the vehicle", async () => {
            await seen(page).stop.click();
            await says(seen(page).state, "Stopped");
            await takeAndClear(page);
            await press(page, "Resume");
            await says(seen(page).state, "Autonomous");
        });

        await world.step(t, "shows what is believed beside what is true", async () => {
            await turnTo(page, "Simulation");
            await page.locator("[data-panel=truth-map] canvas").first().waitFor();
            await says(page.locator(".truth .headline"), /m from the truth/);
            await page.locator("[data-panel=metrics] .readout", { hasText: "Gone" }).waitFor();
            await page.locator(".last-frame tr", { hasText: "gps.fix" }).first().waitFor();
        });

        await world.step(t, "stands still, steps by a second, and goes on when it is resumed", async () => {
            const state = page.locator(".simulation .headline");
            // Whole seconds are counted from the tenth on.
            await until(page, () =>
                /^Runs: \d\d+ s|^Runs: \d+ min/.test(document.querySelector(".simulation .headline").textContent),
            );
            await press(page, "Pause");
            await says(page.locator(".simulation [role=status]"), "Pause: done");
            await says(state, /^Stands still/);
            const before = await simulatedS(page);
            await press(page, "Step 1 s");
            await says(page.locator(".simulation [role=status]"), "Step 1 s: done");
            await until(page, standsStillAt, before + 1);
            await press(page, "Go on");
            await says(state, /^Runs/);
        });

        await world.step(t, "breaks and mends what is chosen, which is seen, and is in the running log", async () => {
            const sonar = (freshness) =>
                until(page, (it) => document.querySelector("[data-panel=waterfall]")?.dataset.fresh === it, freshness);
            await page.getByLabel("Fault", { exact: true }).selectOption({ label: "sensor is silent" });
            await press(page, "Break it");
            await page.locator(".simulation .faults li").first().waitFor();
            await turnTo(page, "Sensors");
            await sonar("stale");
            await turnTo(page, "Simulation");
            await press(page, "Repair all");
            await page.locator(".simulation .faults li").first().waitFor({ state: "detached" });
            await page.locator(".journal li", { hasText: "simulation: repair all" }).waitFor();
            await turnTo(page, "Sensors");
            await sonar("fresh");
        });

        await world.step(t, "begins again, where and when it began", async () => {
            await turnTo(page, "Simulation");
            await says(page.locator(".simulation .headline"), /^Runs/);
            await until(page, fromBerthM, [BERTH, 10, Infinity]);
            const before = await simulatedS(page);
            await press(page, "Reset");
            await says(page.locator(".simulation [role=status]"), "Reset: done");
            await until(page, fromBerthM, [BERTH, 0, 5]);
            await until(page, runsForLessThan, before);
        });

        await world.step(t, "ends cleanly when it is interrupted", async () => {
            const gone = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
            child.kill("SIGINT");
            assert.equal(await gone, 0);
            await seen(page).cutOff.waitFor();
            world.expectComplaints(/WebSocket|ERR_/);
        });
    }));

test("the ground vehicle's demonstration", (t) =>
    World.run(async (world) => {
        const { page } = await demo(world, "raptor");

        await world.step(t, "draws votes, maps and the planned path", async () => {
            await turnTo(page, "Simulation");
            await says(page.locator("[data-panel=votes] .headline"), /m\/s|Stands still/);
            await page.locator("[data-panel=votes] tbody tr").nth(2).waitFor();
            await page.locator("[data-panel=votes] td.strip i").nth(2).waitFor();
            await isDrawn(page, "votes", [["stroke", "--accent"]]);
            await isDrawn(page, "map", [
                ["fill", "--vehicle"],
                ["stroke", "--plan", "dashed"],
                ["stroke", "--track"],
            ]);
            await page.locator(".map .legend", { hasText: /travers/ }).waitFor();
            await page.locator("[data-panel=truth-map] canvas").first().waitFor();
            await says(page.locator(".truth .headline"), /m from the truth/);
            await portray(page, "votes", { shows: page.locator("[data-panel=votes] tbody tr") });
        });

        await world.step(t, "lets a person take over by keyboard, and hand back", async () => {
            await turnTo(page, "Operate");
            await says(seen(page).state, "Autonomous");
            await take(page);
            await steer(page, async () => {
                await says(seen(page).state, "Operated");
                await says(seen(page).level, /^Level 0/);
            });
            await page.keyboard.up("KeyW");
            await press(page, "Hands off");
            await press(page, "Hand over");
            await says(seen(page).lease, "the lease is free");
        });
    }));

test("the demonstration of the competition's robot", (t) =>
    World.run(async (world) => {
        const { page, child } = await demo(world, "igvc");

        await world.step(t, "drives its course by itself, by votes on a map of lines and barrels", async () => {
            await says(page.locator(".source"), "Simulated");
            await says(seen(page).state, "Autonomous");
            await turnTo(page, "Simulation");
            await says(page.locator("[data-panel=votes] .headline"), /m\/s/);
            await says(page.locator("[data-panel=votes] tbody th"), /avoidance/);
            await isDrawn(page, "votes", [["stroke", "--accent"]]);
            await isDrawn(page, "map", [
                ["fill", "--vehicle"],
                ["stroke", "--plan", "dashed"],
                ["stroke", "--track"],
            ]);
            await page.locator(".map .legend", { hasText: /travers/ }).waitFor();
            await says(page.locator(".truth .headline"), /m from the truth/);
        });

        await world.step(t, "is stopped by a person, and ends cleanly when it is interrupted", async () => {
            await seen(page).stop.click();
            await says(seen(page).state, "Stopped");
            const gone = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
            child.kill("SIGINT");
            assert.equal(await gone, 0);
            await seen(page).cutOff.waitFor();
            world.expectComplaints(/WebSocket|ERR_/);
        });
    }));
