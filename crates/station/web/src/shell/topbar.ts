/** The top of the page: what this is, which vehicle, which page, what time, and who you are. */

import { Gate } from "../generated/bowline/gate_t.js";
import type { PageId, Picture } from "../panels/panel.js";
import type { Store } from "../store/store.js";
import { GATE_STATES } from "../store/vehicles.js";
import { button, el, setAttribute, setShown, setText } from "./dom.js";
import { clockTime, day, number } from "./format.js";
import { cycleTheme, themeName } from "./theme.js";

/** The pages in their order. */
export const PAGES: readonly (readonly [PageId, string])[] = [
    ["operate", "Operate"],
    ["sensors", "Sensors"],
    ["simulation", "Simulation"],
    ["scene", "3D"],
    ["messages", "Messages"],
];

const SOURCES = { live: "Live", sim: "Simulated", replay: "Replay" } as const;

export interface Choices {
    readonly page: PageId;
    /** The vehicle that the page is for; undefined while there is none. */
    readonly prefix: string | undefined;
    /** The experiment that the layout is bound to; empty: the whole vehicle. */
    readonly monitor: string;
    /** The experiments that the vehicle offers. */
    readonly monitors: readonly string[];
    choosePage(page: PageId): void;
    chooseVehicle(prefix: string): void;
    chooseMonitor(name: string): void;
    logOut(): void;
}

export class TopBar {
    readonly element: HTMLElement;
    private readonly source = el("span", { class: "source" }, "–");
    private readonly vehicles = el("div", { class: "vehicles", role: "group", "aria-label": "Vehicle" });
    private readonly monitor = el("select", { "aria-label": "Monitor", class: "monitor", hidden: true });
    private readonly pages = el("nav", { "aria-label": "Pages" });
    private readonly time = el("time", { class: "time" });
    private readonly date = el("span", { class: "date" });
    private readonly health = el("span", { class: "health" });
    private readonly user = el("span", { class: "user" });
    private readonly logout: HTMLButtonElement;
    private readonly alarms: HTMLButtonElement;
    private readonly theme: HTMLButtonElement;
    private shownVehicles = "";
    private shownMonitors = "";
    private readonly tabs: ReadonlyMap<PageId, HTMLButtonElement>;

    constructor(
        private readonly store: Store,
        private readonly choices: Choices,
    ) {
        this.tabs = new Map(PAGES.map(([id, label]) => [id, button(label, () => choices.choosePage(id))]));
        this.pages.append(...this.tabs.values());
        this.monitor.addEventListener("change", () => choices.chooseMonitor(this.monitor.value));
        this.alarms = button("", () => this.showAlarms(), { class: "alarm-count", hidden: true });
        this.logout = button("Log out", () => choices.logOut(), { class: "quiet logout", hidden: true });
        this.theme = button("", () => this.changeTheme(), { class: "quiet theme" });
        this.labelTheme();
        this.element = el(
            "header",
            { class: "topbar" },
            el(
                "span",
                { class: "brand", "aria-hidden": "true" },
                knot(),
                el("span", { class: "brand-name" }, "Bowline"),
            ),
            el("h1", { class: "sr" }, "Bowline station"),
            this.source,
            this.vehicles,
            this.monitor,
            this.pages,
            el("span", { class: "spring" }),
            this.alarms,
            this.health,
            el("span", { class: "clock" }, this.time, this.date),
            this.user,
            this.logout,
            this.theme,
        );
    }

    render({ nowMs, utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const { hello } = this.store;
        setText(this.time, clockTime(utime));
        setText(this.date, `${day(utime)} UTC`);
        const source = hello?.source === "live" && this.store.isSimulated ? "sim" : hello?.source;
        setText(this.source, source ? SOURCES[source] : "–");
        setAttribute(this.source, "data-source", source);
        setText(this.user, hello ? `${hello.user || hello.station} · ${hello.role}` : "not logged in");
        setShown(this.logout, (hello?.user ?? "") !== "");
        this.renderHealth(nowMs);
        for (const [id, tab] of this.tabs) {
            setAttribute(tab, "aria-current", id === this.choices.page ? "page" : undefined);
        }
        const { nNew, nDropped } = this.store.histories.alarms;
        const n = nNew + nDropped;
        setShown(this.alarms, n > 0);
        setText(this.alarms, `▲ ${n} ${n === 1 ? "alarm" : "alarms"}`);
        setAttribute(this.alarms, "title", nDropped > 0 ? `${nDropped} are not in the list: too many` : undefined);
        this.renderVehicles(utime);
        this.renderMonitors();
    }

    /** How the way to the station is; under the pointer, what was lost on it and at the station. */
    private renderHealth(nowMs: number): void {
        const { store } = this;
        const [isCutOff, trip] = [store.isCutOff(nowMs), store.roundTripMs];
        const isSilent = store.connection !== "open" || store.clock.isCutOff(nowMs);
        const text = trip === undefined ? "" : `${number(trip, 0)} ms`;
        setText(this.health, isSilent ? "cut off" : isCutOff ? `late ${text}` : text);
        setAttribute(this.health, "data-bad", isCutOff ? "" : undefined);
        const counts = Object.entries(store.status?.counts ?? {}).map(([name, n]) => `${name}: ${n}`);
        const faults = `this page could not make sense of: ${store.nFaults}${store.lastFault && ` (${store.lastFault})`}`;
        setAttribute(this.health, "title", ["Round trip to the station", ...counts, faults].join("\n"));
    }

    /** Goes where alarms can be acknowledged; the panel may only be made with the next picture. */
    private showAlarms(): void {
        this.choices.choosePage("operate");
        window.setTimeout(() => document.querySelector(".panel-alarms")?.scrollIntoView({ block: "nearest" }), 100);
    }

    private renderMonitors(): void {
        const { monitors, monitor } = this.choices;
        setShown(this.monitor, monitors.length > 0);
        if (monitors.join("\n") !== this.shownMonitors) {
            this.shownMonitors = monitors.join("\n");
            this.monitor.replaceChildren(
                el("option", { value: "" }, "Whole vehicle"),
                ...monitors.map((name) => el("option", { value: name }, name)),
            );
        }
        const wanted = monitors.includes(monitor) ? monitor : "";
        if (this.monitor.value !== wanted) {
            this.monitor.value = wanted;
        }
    }

    private renderVehicles(utime: number | undefined): void {
        const { vehicles } = this.store;
        const shown = vehicles.map(({ prefix, name }) => `${prefix} ${name}`).join("\n");
        // Also where the one that was chosen is not there: then there is one to choose.
        const isOther = vehicles.some((it) => it.prefix !== this.choices.prefix);
        setShown(this.vehicles, vehicles.length > 1 || isOther);
        if (shown !== this.shownVehicles) {
            this.shownVehicles = shown;
            this.vehicles.replaceChildren(
                ...vehicles.map(({ prefix, name }) =>
                    vehicleButton(name, prefix, () => this.choices.chooseVehicle(prefix)),
                ),
            );
        }
        for (const it of this.vehicles.children) {
            const prefix = it.getAttribute("data-prefix") ?? "";
            setAttribute(it, "aria-pressed", String(prefix === this.choices.prefix));
            const channel = this.store.channel(`${prefix}gate.state`);
            const isFresh = channel?.freshness(utime) === "fresh";
            const state = isFresh ? (GATE_STATES[channel?.as(Gate)?.state ?? -1] ?? "") : "no messages";
            setAttribute(it, "data-state", state);
            setAttribute(it, "title", state);
            setText(it.lastElementChild ?? it, state);
        }
    }

    private changeTheme(): void {
        cycleTheme();
        this.labelTheme();
    }

    private labelTheme(): void {
        const name = themeName();
        setText(this.theme, { auto: "Auto", day: "Day", night: "Night" }[name]);
        setAttribute(this.theme, "aria-label", `Colours: ${name}. Change`);
    }
}

/** A vehicle's button: its name, and how it is, so that the one that needs help is found at a glance. */
function vehicleButton(name: string, prefix: string, choose: () => void): HTMLButtonElement {
    const made = button(name, choose, { "data-prefix": prefix });
    made.append(el("small", {}));
    return made;
}

/** A bowline, drawn as a line that holds itself. */
function knot(): SVGElement {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute(
        "d",
        "M14 2v6.5c0 2.2-6 2.4-6-.6C8 5.2 15.6 5.4 15.6 9c0 2.4-2.2 2.6-3.6 3.6-2.6 1.8-4.6 3.2-4.6 5.4 0 2 1.8 3.6 4.6 3.6s4.6-1.6 4.6-3.6c0-2.6-2.6-3.8-4.4-5.6",
    );
    svg.append(path);
    return svg;
}
