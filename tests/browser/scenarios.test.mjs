// The operator's page in a real browser, against the real station, vehicles and gates. One browser for all.

import { after, before } from "node:test";
import { closeBrowser, openBrowser } from "./lib/world.mjs";

before(() => openBrowser());
after(() => closeBrowser());

await import("./scenarios/command.mjs");
await import("./scenarios/loss.mjs");
await import("./scenarios/people.mjs");
await import("./scenarios/demo.mjs");
await import("./scenarios/fleet.mjs");
await import("./scenarios/looks.mjs");
await import("./scenarios/survey.mjs");
