// One person and one vehicle: retasking, driving by hand, stopping.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
    goTo,
    isAhead,
    isZero,
    place,
    Pointer,
    press,
    says,
    seen,
    steer,
    take,
    takeAndClear,
    until,
} from "../lib/bridge.mjs";
import { portray } from "../lib/portrait.mjs";
import { thrustOf, World } from "../lib/world.mjs";

const FAR = [160, 120];

/** Waits for a thrust on the vehicle's bus. */
const thrust = (bus, pick) =>
    bus.next((channel, bytes) => (channel === "thrust" && pick(thrustOf(bytes)) ? thrustOf(bytes) : undefined), {
        what: `thrust that ${pick.name}`,
    });

/** Waits for the gate to refuse something. */
const refusal = (bus) =>
    bus.next((channel) => (channel === "gate.refusal" ? true : undefined), { what: "a refusal of the gate" });

async function afloat(world, options) {
    const url = await world.hub();
    const vessel = await world.vessel(url);
    const station = await world.station(["-l", url, "--chart", "worlds/harbour.geojson"]);
    const page = await world.page(station.url, options);
    const bus = await world.bus(url, "(thrust|gate\\.refusal)");
    return { vessel, page, bus };
}

test("one person commands one vehicle", (t) =>
    World.run(async (world) => {
        const { vessel, page, bus } = await afloat(world, { hasTouch: true });

        await world.step(t, "nothing can be asked before control is taken", async () => {
            await says(seen(page).state, "Stopped");
            for (const name of ["Go to", "Drive by hand"]) {
                await page.getByRole("button", { name, exact: true, disabled: true }).waitFor();
            }
            await takeAndClear(page);
        });

        await world.step(t, "a click on the map sends the vehicle there", async () => {
            const [x, y] = await place(page);
            const target = [x + 8, y + 14];
            const pointer = await Pointer.of(page);
            await pointer.click(target);
            await press(page, "Go here");
            await says(seen(page).state, "Autonomous");
            await says(seen(page).level, "Level 2 · Waypoint");
            await until(
                page,
                ([x, y, near]) => {
                    const text = [...document.querySelectorAll(".vitals .readout")].find((it) =>
                        it.textContent.startsWith("Position"),
                    );
                    const [px, py] = text
                        .querySelector(".value")
                        .textContent.replaceAll("−", "-")
                        .split(",")
                        .map(Number);
                    return Math.hypot(px - x, py - y) < near;
                },
                [...target, Math.hypot(8, 14) - 4],
            );
        });

        await world.step(t, "the keyboard takes over from autonomy, and hands back", async () => {
            await goTo(page, FAR);
            await steer(page, async () => {
                await thrust(bus, isAhead);
                await says(seen(page).state, "Operated");
                await says(seen(page).level, "Level 0 · Direct control");
            });
            await page.keyboard.up("KeyW");
            await thrust(bus, isZero);
            await press(page, "Hands off");
            await press(page, "Resume");
            await says(seen(page).state, "Autonomous");
            await thrust(bus, isAhead);
        });

        await world.step(t, "a finger on the stick drives, and lets go", async () => {
            const cdp = await page.context().newCDPSession(page);
            const touch = (type, touchPoints) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints });
            const finger = {
                down: async () => {
                    const { x, y, width, height } = await page.locator(".stick").boundingBox();
                    const at = (dy) => [{ x: x + width / 2, y: y + height / 2 + dy }];
                    await touch("touchStart", at(0));
                    await touch("touchMove", at(-height / 3));
                },
                up: () => touch("touchEnd", []),
            };
            await steer(
                page,
                async () => {
                    await thrust(bus, isAhead);
                    await says(seen(page).teleop, "You are driving");
                },
                finger,
            );
            await finger.up();
            await thrust(bus, isZero);
            await press(page, "Hands off");
        });

        await world.step(t, "a gamepad drives, and its button stops", async () => {
            await page.evaluate(() => {
                const buttons = Array.from({ length: 17 }, () => ({ pressed: false, touched: false, value: 0 }));
                const pad = {
                    id: "pad of a test",
                    index: 0,
                    connected: true,
                    mapping: "standard",
                    axes: [0, 0],
                    buttons,
                };
                navigator.getGamepads = () => [pad, null, null, null];
                globalThis.testPad = pad;
            });
            const push = (axes) => page.evaluate((it) => (globalThis.testPad.axes = it), axes);
            const thumb = { down: () => push([0, -1]), up: () => push([0, 0]) };
            await steer(page, () => thrust(bus, isAhead), thumb);
            await page.evaluate(() => (globalThis.testPad.buttons[1].pressed = true));
            await says(seen(page).state, "Stopped");
            await thrust(bus, isZero);
            await page.evaluate(() => (navigator.getGamepads = () => []));
            await press(page, "Clear the stop");
        });

        await world.step(
            t,
            "the stop is latched, by the button and by Esc, and nothing moves until it is cleared",
            async () => {
                for (const stop of [() => seen(page).stop.click(), () => page.keyboard.press("Escape")]) {
                    await goTo(page, FAR);
                    await thrust(bus, isAhead);
                    await stop();
                    await says(seen(page).state, "Stopped");
                    await says(seen(page).stop.locator("strong"), "STOPPED");
                    await thrust(bus, isZero);
                    await resumeInVain(page, bus);
                    await says(seen(page).state, "Stopped");
                    await press(page, "Clear the stop");
                    await says(seen(page).state, "Idle");
                }
            },
        );

        await world.step(t, "handing over frees the lease", async () => {
            await press(page, "Hand over");
            await says(seen(page).lease, "the lease is free");
            await take(page);
        });

        await world.step(t, "what was commanded is in the running log", async () => {
            const log = page.getByRole("list", { name: "Running log, newest first" });
            for (const text of [/go to/, /stop: key Esc/, /lets the stop be over/, /gives the lease up/]) {
                await log.getByRole("listitem").filter({ hasText: text }).first().waitFor();
            }
        });

        await world.step(t, "values are marked as stale before the page shows them as a second old", async () => {
            await until(page, areFresh);
            await page.evaluate(watchAges, POSE_FED);
            vessel.freeze();
            await until(page, areStale, POSE_FED);
            assert.deepEqual(await page.evaluate(() => globalThis.oldAndFresh), []);
            await says(seen(page).state, /^Was /);
            await until(page, () => document.querySelectorAll(".vitals .readout[data-fresh=fresh]").length === 0);
            await portray(page, "stale", { shows: page.locator(".panel-vitals[data-fresh=stale]") });
        });

        await world.step(t, "values are fresh again by themselves when the vehicle is back", async () => {
            vessel.thaw();
            await until(page, areFresh);
        });
    }));

/** What is computed from poses, which come often. */
const POSE_FED = ["Heading", "Speed", "Position", "Uncertainty"];

/** Runs in the page. */
function areFresh() {
    return document.querySelector(".panel-vitals")?.dataset.fresh === "fresh";
}

/** Runs in the page. */
function areStale(labels) {
    const readouts = [...document.querySelectorAll(".vitals .readout")];
    return labels.every((label) => readouts.find((it) => it.textContent.startsWith(label))?.dataset.fresh === "stale");
}

/**
 * Runs in the page: notes each picture in which a value was a second old by the station's clock and not marked as stale; such
 * a one has its age beside it. How long a second is, is for the page's own tests: a machine that does other things too may
 * draw late, but no picture may be wrong.
 */
function watchAges(labels) {
    globalThis.oldAndFresh = [];
    const readouts = [...document.querySelectorAll(".vitals .readout")].filter((it) =>
        labels.some((label) => it.textContent.startsWith(label)),
    );
    const look = () => {
        for (const it of readouts) {
            if (it.dataset.fresh !== "stale" && it.querySelector(".ago").textContent !== "") {
                globalThis.oldAndFresh.push(it.textContent);
            }
        }
    };
    const observer = new MutationObserver(look);
    for (const it of readouts) {
        observer.observe(it, { attributes: true, childList: true, characterData: true, subtree: true });
    }
}

/** Asks a stopped vehicle to go on, which is refused anew, and shown on the page anew. */
async function resumeInVain(page, bus) {
    const refusals = page.locator(".journal li", { hasText: "refused" });
    const before = await refusals.count();
    const refused = refusal(bus);
    await press(page, "Resume");
    await refused;
    await refusals.nth(before).waitFor();
    await says(seen(page).refusal, /refused/);
}
