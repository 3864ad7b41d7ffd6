// Several people at one vehicle: who may, who asks, who outranks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { press, says, seen, takeAndClear } from "../lib/bridge.mjs";
import { portray } from "../lib/portrait.mjs";
import { hashOf, World } from "../lib/world.mjs";

const PEOPLE = [
    ["anna", "operator", 0],
    ["bert", "operator", 0],
    ["carla", "supervisor", 2],
    ["vera", "viewer", 0],
];

test("several people share one vehicle", (t) =>
    World.run(async (world) => {
        const url = await world.hub();
        // Time enough to look at being asked, on slow machines too.
        const args = ["--set", "gate.answer_within=60s"];
        await world.vessel(url, { ranks: ["bridge/carla=2"], lease: "60s", args });
        const users = PEOPLE.map(
            ([name, role, rank]) => `[user.${name}]\nrole = "${role}"\nrank = ${rank}\npassword = '${hashOf(name)}'\n`,
        ).join("\n");
        const station = await world.station(["-l", url, "--users", world.file("users.toml", users)]);
        const pages = [];
        for (const [user] of PEOPLE) {
            pages.push(await world.page(station.url, { user }));
        }
        const [anna, bert, carla, vera] = pages;
        world.expectComplaints(/401|WebSocket/);
        const commands = [];
        const bus = await world.bus(url, "operator\\..*");
        bus.listen((channel, bytes) => commands.push([channel, bytes.toString("latin1")]));

        await world.step(t, "with consent: the holder is asked, and hands over", async () => {
            await takeAndClear(anna);
            await says(seen(bert).lease, /^bridge\/anna/);
            await press(bert, "Ask for control");
            const asked = anna.getByRole("alertdialog", { name: "Another station asks for control" });
            await says(asked, /bridge\/bert asks for control/);
            await asked.getByRole("button", { name: "Let them" }).click();
            await says(seen(bert).lease, "the lease is yours");
            await says(seen(anna).lease, /^bridge\/bert/);
        });

        await world.step(t, "without consent: the holder keeps it, and the other is notified", async () => {
            await press(anna, "Ask for control");
            const asked = bert.getByRole("alertdialog");
            await asked.getByRole("button", { name: "Keep it" }).click();
            await asked.waitFor({ state: "hidden" });
            await says(seen(anna).refusal, /refused/);
            await says(seen(bert).lease, "the lease is yours");
        });

        await world.step(t, "the asked station cannot overlook it, on any screen", async () => {
            await press(anna, "Ask for control");
            await portray(bert, "asked", { shows: bert.getByRole("alertdialog") });
            await bert.getByRole("alertdialog").getByRole("button", { name: "Keep it" }).click();
            await says(seen(bert).lease, "the lease is yours");
        });

        await world.step(t, "with rank: a supervisor takes it, and the vehicle is stopped first", async () => {
            assert.equal(await anna.getByRole("button", { name: "Take by rank" }).isVisible(), false);
            await press(carla, "Take by rank");
            await says(seen(carla).lease, "the lease is yours");
            await says(seen(carla).state, "Stopped");
            await says(seen(bert).lease, /^bridge\/carla \(rank 2\)/);
        });

        await world.step(t, "a viewer sees everything, commands nothing, and may stop", async () => {
            await press(carla, "Clear the stop");
            await says(seen(vera).state, "Idle");
            for (const name of ["Take control", "Ask for control", "Take by rank", "Clear the stop"]) {
                assert.equal(await vera.getByRole("button", { name, exact: true }).isVisible(), false, name);
            }
            for (const name of ["Go to", "Resume", "Drive by hand"]) {
                assert.equal(await vera.getByRole("button", { name, exact: true }).isDisabled(), true, name);
            }
            await seen(vera).stop.click();
            await says(seen(carla).state, "Stopped");
            await says(carla.locator(".authority .reason"), /stopped by .*bridge\/vera/);
            const hers = commands.filter(([, text]) => text.includes("bridge/vera")).map(([channel]) => channel);
            assert.deepEqual([...new Set(hers)], ["operator.stop"]);
        });

        await world.step(t, "a wrong password is refused in words, and admits no user", async () => {
            const page = await world.page(station.url);
            await page.getByLabel("Name").fill("anna");
            await page.getByLabel("Password").fill("guess");
            await page.getByRole("button", { name: "Log in" }).click();
            await says(page.getByRole("alert"), /does not know this name/);
            await portray(page, "log-in", { shows: page.getByRole("button", { name: "Log in" }), inSight: [] });
            world.expectComplaints(/401|WebSocket/);
        });
    }));
