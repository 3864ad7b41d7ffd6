/** The state of each device by its driver, and what became of what it sent. */

import { Device } from "../generated/bowline/device_t.js";
import { el, setAttribute, setText } from "../shell/dom.js";
import { duration } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

const STATES = ["?", "starting", "working", "erroneous", "silent"];
const COLUMNS = ["Device", "State", "Since", "Good", "Bad", "Last error"];

class DevicesPanel implements Panel {
    readonly body = el("div", { class: "devices", tabindex: "0", role: "region", "aria-label": "Table of devices" });
    private readonly rows = el("tbody");
    private readonly cells = new Map<string, readonly HTMLElement[]>();

    constructor(private readonly context: Context) {
        const head = el("tr", {}, ...COLUMNS.map((name) => el("th", { scope: "col" }, name)));
        this.body.append(el("table", {}, el("thead", {}, head), this.rows));
    }

    sources(): (Channel | undefined)[] {
        return [...this.context.view.ofType(Device)];
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        for (const channel of this.context.view.ofType(Device)) {
            const device = channel.as(Device);
            if (device !== undefined) {
                this.renderRow(channel, device, utime);
            }
        }
    }

    private renderRow(channel: Channel, device: Device, utime: number | undefined): void {
        const cells = this.cells.get(channel.name) ?? this.add(channel.name);
        const [name, state, since, good, bad, error] = cells;
        if (name && state && since && good && bad && error) {
            // Three devices may be of one sort: the channel distinguishes them.
            setText(name, this.context.view.shortName(channel).replace(/\.device$/, ""));
            setAttribute(name, "title", device.device);
            setText(state, STATES[device.state] ?? String(device.state));
            setAttribute(state, "data-bad", device.state === Device.WORKING ? undefined : "");
            setText(since, duration(Number(device.utime - device.since_utime) / 1e6));
            setText(good, String(device.n_good));
            setText(bad, String(device.n_bad_checksum + device.n_malformed + device.n_refused + device.n_timeouts));
            setText(error, device.last_error);
            setAttribute(name, "data-fresh", channel.freshness(utime));
        }
    }

    private add(name: string): readonly HTMLElement[] {
        const cells = COLUMNS.map(() => el("td"));
        this.rows.append(el("tr", {}, ...cells));
        this.cells.set(name, cells);
        return cells;
    }
}

export const devices: PanelKind = {
    id: "devices",
    title: "Devices",
    types: [Device],
    per: "vehicle",
    places: { sensors: "grid" },
    make: (context) => new DevicesPanel(context),
};
