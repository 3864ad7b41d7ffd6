/**
 * Vehicles that are no longer received: an alarm for each, because a person does not look at all of them at once.
 *
 * Ages are by the station's clock as the page counts it on. While the page itself is cut off it cannot know, and shows that
 * elsewhere.
 */

import { Gate } from "../generated/bowline/gate_t.js";
import type { Store } from "./store.js";

/** Raises or clears the alarm of each vehicle. */
export function noteSilence(store: Store, nowMs: number): void {
    const utime = store.now(nowMs);
    if (utime === undefined || store.isCutOff(nowMs) || store.isReplay) {
        return;
    }
    for (const { prefix, name } of store.vehicles) {
        const channel = store.channel(`${prefix}gate.state`);
        if (channel?.is(Gate) && channel.utime !== undefined) {
            const what = { priority: "alarm", source: name, text: "sends no messages any more" } as const;
            const isSilent = channel.freshness(utime) === "stale";
            store.histories.alarms.follow(channel.name, "silence", isSilent, what, utime);
        }
    }
}
