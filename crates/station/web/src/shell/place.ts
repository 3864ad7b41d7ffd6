/**
 * Which view of the page is open, as the end of its address: which page, which vehicle, which monitor.
 *
 * So a second window, or a screen on the wall, opens with what it is for: `#sensors&vehicle=heron.&monitor=chemistry`.
 */

import type { PageId } from "../panels/panel.js";
import type { Vehicle } from "../store/vehicles.js";

export interface Place {
    readonly page: PageId;
    /** The vehicle's prefix, which may be empty; undefined while none was chosen and none was shown. */
    readonly vehicle: string | undefined;
    /** The experiment that the layout is bound to; empty: the whole vehicle. */
    readonly monitor: string;
}

const PAGE_IDS: readonly PageId[] = ["operate", "sensors", "simulation", "scene", "messages"];

/**
 * The vehicle that a page is for: the one that was chosen and no other in its place; without a choice, the first.
 */
export function frontOf({ vehicle }: Place, vehicles: readonly Vehicle[]): Vehicle | undefined {
    return vehicle === undefined ? vehicles[0] : vehicles.find((it) => it.prefix === vehicle);
}

/** Reads the end of an address; what it does not contain is as it was. */
export function readPlace(hash: string, before: Place): Place {
    const [page, ...rest] = hash.replace(/^#/, "").split("&");
    const values = new URLSearchParams(rest.join("&"));
    return {
        page: PAGE_IDS.find((it) => it === page) ?? before.page,
        vehicle: values.get("vehicle") ?? before.vehicle,
        monitor: values.get("monitor") ?? before.monitor,
    };
}

/** Writes it. */
export function writePlace({ page, vehicle, monitor }: Place): string {
    const values = new URLSearchParams();
    if (vehicle !== undefined) {
        values.set("vehicle", vehicle);
    }
    if (monitor !== "") {
        values.set("monitor", monitor);
    }
    const text = values.toString();
    return `#${page}${text === "" ? "" : `&${text}`}`;
}
