// How the page looks and reads: no violation that axe-core calls serious, and pictures of every panel to be looked at.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { goTo, PAGES, Pointer, says, seen, takeAndClear, turnTo, until } from "../lib/bridge.mjs";
import { assertFits, assertInSight, PICTURE, portray, SIZES, violations } from "../lib/portrait.mjs";
import { outFolder, World } from "../lib/world.mjs";

test("the page, with a vehicle under way", (t) =>
    World.run(async (world) => {
        const url = await world.hub();
        // Pictures of walls take a slow machine long, and the lease is not to be lost over them.
        await world.vessel(url, { lease: "60s" });
        const station = await world.station(["-l", url, "--chart", "worlds/harbour.geojson"]);
        const captain = await world.page(station.url);
        await takeAndClear(captain);
        await goTo(captain, [160, 60]);
        await until(captain, () => document.querySelector(".map .legend:not([hidden])") !== null);

        for (const colorScheme of ["dark", "light"]) {
            await world.step(t, `has no serious violation of accessibility on any page, ${colorScheme}`, async () => {
                const page = await world.page(station.url, { colorScheme, bypassCSP: true });
                for (const name of PAGES) {
                    await show(page, name);
                    assert.deepEqual(await violations(page), [], name);
                }
            });
        }

        for (const [size, viewport] of Object.entries(SIZES)) {
            await world.step(t, `fits a ${size}, and every panel of it has its picture`, async () => {
                const isPhone = size === "phone";
                const page = await world.page(station.url, { viewport, hasTouch: isPhone, isMobile: isPhone });
                const folder = outFolder("shots", size);
                for (const name of PAGES) {
                    await show(page, name);
                    const file = path.join(folder, `page-${name.toLowerCase()}.jpg`);
                    await page.screenshot({ ...PICTURE, path: file, fullPage: isPhone });
                    if (!isPhone) {
                        await shootRest(page, folder, name.toLowerCase());
                    }
                    await assertFits(page, name);
                    await assertInSight(page, seen(page).stop);
                    await assertInSight(page, seen(page).state);
                }
            });
        }

        await world.step(t, "shows what can be asked at a place, on every screen", async () => {
            const pointer = await Pointer.of(captain);
            await pointer.click(pointer.place);
            await portray(captain, "retask", { shows: captain.locator(".retask") });
        });

        await world.step(
            t,
            "can be used by keyboard alone: every control has the focus once, and shows it",
            async () => {
                // No station commands any more: what can be asked for does not change meanwhile.
                await captain.locator(".retask").getByRole("button", { name: "Cancel" }).click();
                // Where the machine was so busy that the vessel's supervisor began anew, none does already.
                const handOver = captain.getByRole("button", { name: "Hand over", exact: true });
                await handOver
                    .or(captain.getByRole("button", { name: "Take control", exact: true }))
                    .first()
                    .waitFor();
                if (await handOver.isVisible()) {
                    await handOver.click();
                }
                await says(seen(captain).lease, "the lease is free");
                const page = await world.page(station.url);
                await hasPanels(page, "Operate");
                const { controls, visits } = await visitAll(page);
                const counts = controls.map((name, i) => [name, visits.filter((it) => it.i === i).length]);
                assert.deepEqual(
                    counts.filter(([, n]) => n !== 1),
                    [],
                    `each once, of ${controls.length}`,
                );
                assert.deepEqual(
                    visits.filter((it) => it.i < 0 || !it.isSeen),
                    [],
                );
            },
        );
    }));

/** How often the page is gone round: controls that cannot be used for a moment, as on a page that is late, are others. */
const MOST_ROUNDS = 5;

/** Goes round the page by Tab. Returns the names of its controls, which are the same before and after, and what was visited. */
async function visitAll(page) {
    for (let n = 1; ; n++) {
        await page.getByRole("button", { name: "Take control", disabled: false }).waitFor();
        const controls = await page.evaluate(gatherControls);
        assert.ok(controls.length > PAGES.length, `expected controls, found ${controls.join(", ")}`);
        await page.evaluate(() => document.activeElement?.blur());
        const visits = [];
        // Once round: twice as often as there are controls would be more than that.
        for (let i = 0; i < 2 * controls.length; i++) {
            await page.keyboard.press("Tab");
            const visit = await page.evaluate(visitOf);
            if (visit === undefined || (visits.length > 0 && visit.i === visits[0].i)) {
                break;
            }
            visits.push(visit);
        }
        const before = await page.evaluateHandle(() => globalThis.controls);
        await page.evaluate(gatherControls);
        const isSame = await page.evaluate(
            (before) =>
                before.length === globalThis.controls.length && before.every((it, i) => it === globalThis.controls[i]),
            before,
        );
        if (isSame || n === MOST_ROUNDS) {
            return { controls, visits };
        }
        console.log("went round once more: other controls could be used in the end than at first");
    }
}

/** Runs in the page: remembers every control that can be used now, and returns their names. */
function gatherControls() {
    globalThis.controls = [
        ...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']"),
    ].filter((it) => !it.disabled && it.tabIndex >= 0 && it.checkVisibility());
    return globalThis.controls.map((it) => it.getAttribute("aria-label") ?? it.textContent);
}

/** Runs in the page: which control has the focus, and whether one sees that; undefined where none has. */
function visitOf() {
    const it = document.activeElement;
    if (it === null || it === document.body || it === document.documentElement) {
        return undefined;
    }
    const name = it.getAttribute("aria-label") ?? it.textContent;
    return { i: globalThis.controls.indexOf(it), name, isSeen: getComputedStyle(it).outlineStyle !== "none" };
}

/** Turns to a page, and waits until it has panels with something in them. */
async function show(page, name) {
    await turnTo(page, name);
    await hasPanels(page, name);
}

async function hasPanels(page, name) {
    const id = { "3D": "scene" }[name] ?? name.toLowerCase();
    await until(page, (it) => document.querySelector(`main.page-${it} section.card .content > *`) !== null, id);
    await until(page, () => document.querySelector(".authority[data-state=none]") === null);
}

/** Pictures of the panels that are not wholly on the page's own: those further down. */
async function shootRest(page, folder, name) {
    const { height } = page.viewportSize();
    const cards = await page.locator("section.card").all();
    const boxes = await Promise.all(cards.map((card) => card.boundingBox()));
    for (const card of cards.filter((_, i) => boxes[i].y + boxes[i].height > height)) {
        await card.scrollIntoViewIfNeeded();
        const panel = await card.evaluate((it) =>
            `${it.dataset.panel} ${it.querySelector(".subtitle").textContent}`.trim(),
        );
        const file = `${name}-${panel.replace(/[^\w.-]+/g, "-")}.jpg`;
        await card.screenshot({ ...PICTURE, path: path.join(folder, file) });
    }
    await page.evaluate(() => window.scrollTo(0, 0));
}
