// What happens when something between a person and a vehicle is lost while they steer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isAhead, isZero, press, says, seen, steer, takeAndClear, until } from "../lib/bridge.mjs";
import { portray } from "../lib/portrait.mjs";
import { gateOf, thrustOf, World } from "../lib/world.mjs";

/** A vehicle behind a link, and a person who steers it by keyboard. */
async function steered(world) {
    const [aboard, ashore] = [await world.hub(), await world.hub()];
    await world.vessel(aboard);
    const link = await world.link(aboard, ashore);
    const station = await world.station(["-l", ashore]);
    const page = await world.page(station.url);
    const bus = await world.bus(aboard, "thrust");
    const thrust = (pick) =>
        bus.next((channel, bytes) => (channel === "thrust" && pick(thrustOf(bytes)) ? true : undefined), {
            what: `thrust that ${pick.name}`,
        });
    await takeAndClear(page);
    await steer(page, () => thrust(isAhead));
    const staysZero = async () => {
        let n = 0;
        const { picked } = await bus.next((channel, bytes) => {
            n += channel === "thrust" ? 1 : 0;
            return channel === "thrust" && !isZero(thrustOf(bytes)) ? "thrust" : n >= 50 ? "none" : undefined;
        });
        assert.equal(picked, "none");
    };
    return { link, station, page, thrust, staysZero, ashore, aboard };
}

const nowMs = () => performance.timeOrigin + performance.now();

test("a link that is cut during direct control", (t) =>
    World.run(async (world) => {
        const { link, page, thrust, staysZero } = await steered(world);

        await world.step(
            t,
            "leaves the vehicle without thrust, and the page shows that no messages arrive",
            async () => {
                const [cutMs, zero] = [nowMs(), thrust(isZero)];
                link.isCut = true;
                t.diagnostic(`from the cut to zero thrust: ${((await zero).atMs - cutMs).toFixed(0)} ms`);
                await says(seen(page).state, /^Was /);
                await says(seen(page).teleop, "Hands off");
                await until(page, () => document.querySelector(".panel-vitals")?.dataset.fresh === "stale");
                await page.locator(".alarms li", { hasText: "sends no messages any more" }).waitFor();
            },
        );

        await world.step(t, "takes up nothing by itself when it is back", async () => {
            link.isCut = false;
            await until(page, () => document.querySelector(".panel-vitals")?.dataset.fresh === "fresh");
            await says(seen(page).teleop, "Hands off");
            await staysZero();
            await page.keyboard.up("KeyW");
        });
    }));

test("a tab that freezes during direct control", (t) =>
    World.run(async (world) => {
        const { page, thrust, staysZero } = await steered(world);
        const tab = await page.context().newCDPSession(page);

        await world.step(t, "leaves the vehicle without thrust", async () => {
            await tab.send("Debugger.enable");
            const paused = new Promise((resolve) => tab.once("Debugger.paused", resolve));
            await tab.send("Debugger.pause");
            await paused;
            const [frozenMs, zero] = [nowMs(), thrust(isZero)];
            t.diagnostic(
                `from when it is known to be frozen to zero thrust: ${((await zero).atMs - frozenMs).toFixed(0)} ms`,
            );
            await staysZero();
        });

        await world.step(t, "drives on with nothing when it thaws, and shows why", async () => {
            await tab.send("Debugger.resume");
            await tab.send("Debugger.disable");
            await says(seen(page).teleop, "Hands off");
            await says(seen(page).why, /commands were held up|control is not yours|no longer yours/);
            await staysZero();
            await page.keyboard.up("KeyW");
        });
    }));

test("a page that loses its focus during direct control", (t) =>
    World.run(async (world) => {
        const { page, thrust, staysZero } = await steered(world);

        await world.step(t, "leaves the vehicle without thrust when another window has the focus", async () => {
            const zero = thrust(isZero);
            await page.evaluate(() => window.dispatchEvent(new Event("blur")));
            await zero;
            await until(page, () => document.querySelector(".teleop").dataset.state !== "driving");
            // The key is still down, as far as the page knows.
            await staysZero();
            await page.keyboard.up("KeyW");
        });

        await world.step(t, "is out of direct control when it is out of sight, and shows so", async () => {
            if ((await seen(page).teleop.textContent()) !== "Hands off") {
                await press(page, "Hands off");
            }
            await steer(page, () => thrust(isAhead));
            const zero = thrust(isZero);
            await page.evaluate(() => {
                Object.defineProperty(document, "visibilityState", { get: () => "hidden", configurable: true });
                document.dispatchEvent(new Event("visibilitychange"));
            });
            await zero;
            await says(seen(page).teleop, "Hands off");
            await says(seen(page).why, /out of sight/);
        });

        await world.step(t, "drives on with nothing when it is seen again", async () => {
            await page.evaluate(() => {
                delete document.visibilityState;
                document.dispatchEvent(new Event("visibilitychange"));
            });
            await staysZero();
            await says(seen(page).teleop, "Hands off");
            await page.keyboard.up("KeyW");
        });
    }));

test("a station that is restarted", (t) =>
    World.run(async (world) => {
        const { station, page, thrust, staysZero, ashore, aboard } = await steered(world);
        const gates = await world.bus(aboard, "gate\\.state");
        const { host } = new URL(station.url);
        let again;

        await world.step(t, "leaves the vehicle without thrust, and the page shows that it is cut off", async () => {
            const zero = thrust(isZero);
            const free = gates.next((_, bytes) => (gateOf(bytes).holder === "" ? true : undefined));
            await station.end("SIGKILL");
            await zero;
            await seen(page).cutOff.waitFor();
            await page.keyboard.up("KeyW");
            await until(page, () => document.querySelector(".panel-vitals")?.dataset.fresh === "stale");
            await free;
        });

        await world.step(t, "cannot stop the vehicle meanwhile, and the page shows so", async () => {
            await seen(page).stop.click();
            await says(seen(page).stop.locator("strong"), "NOT SENT");
            await portray(page, "cut-off", { shows: seen(page).cutOff });
        });

        await world.step(
            t,
            "is found again by the page, which stops the vehicle after all, and has to ask for control anew",
            async () => {
                again = await world.station(["-l", ashore], host);
                await seen(page).cutOff.waitFor({ state: "hidden" });
                await until(page, () => document.querySelector(".panel-vitals")?.dataset.fresh === "fresh");
                await says(seen(page).stop.locator("strong"), "STOPPED");
                await says(seen(page).lease, "the lease is free");
                await takeAndClear(page);
                world.expectComplaints(/WebSocket|ERR_CONNECTION_REFUSED|ERR_/);
            },
        );

        await world.step(t, "leaves the vehicle without thrust when it freezes, and the page cut off", async () => {
            await steer(page, () => thrust(isAhead));
            const zero = thrust(isZero);
            again.child.kill("SIGSTOP");
            await zero;
            await seen(page).cutOff.waitFor();
            await says(seen(page).teleop, "Hands off");
        });

        await world.step(t, "is received again by itself when it thaws, and drives on with nothing", async () => {
            again.child.kill("SIGCONT");
            await seen(page).cutOff.waitFor({ state: "hidden" });
            await until(page, () => document.querySelector(".panel-vitals")?.dataset.fresh === "fresh");
            await staysZero();
            await page.keyboard.up("KeyW");
            world.expectComplaints(/WebSocket|ERR_/);
        });
    }));
