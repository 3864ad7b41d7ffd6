/** What must not be overlooked: that this is a replay, that the page is cut off, that another asks. */

import type { Picture } from "../panels/panel.js";
import type { Store } from "../store/store.js";
import { el, setShown, setText } from "./dom.js";
import { duration } from "./format.js";

export class Banners {
    readonly element = el("div", { class: "banners" });
    private readonly cutOff = el("div", { class: "banner cut-off", role: "alert", hidden: true });
    private readonly cutOffText = el("span");
    private readonly replay = el("div", { class: "banner replay", hidden: true });
    private readonly replayText = el("span");

    constructor(private readonly store: Store) {
        this.cutOff.append(el("strong", {}, "CUT OFF"), this.cutOffText);
        this.replay.append(el("strong", {}, "REPLAY"), this.replayText);
        this.element.append(this.cutOff, this.replay);
    }

    render({ nowMs, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const { store } = this;
        const isCutOff = store.hello !== undefined && store.isCutOff(nowMs);
        setShown(this.cutOff, isCutOff);
        document.documentElement.toggleAttribute("data-cut-off", isCutOff);
        if (isCutOff) {
            setText(
                this.cutOffText,
                `Nothing has come from the station for ${duration(store.clock.silenceMs(nowMs) / 1e3)}. What you see is old, and what you press goes nowhere.`,
            );
        }
        setShown(this.replay, store.isReplay);
        if (store.isReplay) {
            const player = store.status?.player;
            setText(this.replayText, `${player?.log ?? "a log"}: this happened before, and cannot be changed`);
        }
    }
}
