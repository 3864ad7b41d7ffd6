/**
 * What must not be overlooked: that this is a replay, that the page is cut off or shows nothing new, that the vehicle is not
 * there.
 *
 * What is read aloud is announced once; what counts is beside it.
 */

import type { Picture } from "../panels/panel.js";
import { VERSION } from "../protocol/frames.js";
import type { Store } from "../store/store.js";
import { el, setAttribute, setShown, setText } from "./dom.js";
import { duration } from "./format.js";

/** So long after the last time that nothing was drawn, a page that draws again is believed: it must not flicker. */
const FROZEN_FOR_MS = 2_000;

/** A line across the page. */
class Banner {
    private readonly title = el("strong");
    private readonly text = el("span");
    private readonly count = el("span", { "aria-hidden": "true" });
    readonly element: HTMLElement;

    constructor(className: string, role?: "alert") {
        const said = el("span", { class: "said", role }, this.title, " ", this.text);
        this.element = el("div", { class: `banner ${className}`, hidden: true }, said, this.count);
    }

    show(title: string, text: string, count = ""): void {
        setText(this.title, title);
        setText(this.text, text);
        setText(this.count, count);
        setShown(this.element, true);
    }

    hide(): void {
        if (!this.element.hidden) {
            this.show("", "");
            setShown(this.element, false);
        }
    }
}

export class Banners {
    readonly element = el("div", { class: "banners" });
    private readonly cutOff = new Banner("cut-off", "alert");
    private readonly frozen = new Banner("frozen", "alert");
    private readonly failing = new Banner("failing", "alert");
    private readonly version = new Banner("version", "alert");
    private readonly absent = new Banner("absent", "alert");
    private readonly replay = new Banner("replay");
    private frozenMs = Number.NEGATIVE_INFINITY;

    /** `absentVehicle` is the vehicle that the page is for and that sends nothing; empty: none. */
    constructor(
        private readonly store: Store,
        private readonly absentVehicle: () => string,
    ) {
        const all = [this.cutOff, this.frozen, this.failing, this.version, this.absent, this.replay];
        this.element.append(...all.map((it) => it.element));
    }

    render({ nowMs, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        if (nowMs - this.frozenMs > FROZEN_FOR_MS) {
            this.frozen.hide();
        }
        this.renderCutOff(nowMs);
        const { hello, isReplay, status } = this.store;
        const absent = this.absentVehicle();
        if (absent === "") {
            this.absent.hide();
        } else {
            const text = `No messages from vehicle ${absent} arrive here. No other is shown in its place: choose one above.`;
            this.absent.show("NO MESSAGES", text);
        }
        if (hello === undefined || hello.version === VERSION) {
            this.version.hide();
        } else {
            const text = `The station speaks version ${hello.version} of the protocol, this page ${VERSION}. Load the page again.`;
            this.version.show("OTHER VERSION", text);
        }
        if (isReplay) {
            this.replay.show(
                "REPLAY",
                `${status?.player?.log ?? "a log"}: this happened before, and cannot be changed`,
            );
        } else {
            this.replay.hide();
        }
    }

    /** Nothing was drawn for a while, though the page is in sight. Called from outside of the drawing. */
    showFrozen(forMs: number, nowMs: number): void {
        this.frozenMs = nowMs;
        const text = "The page does not draw, or not often enough. What you see is old; the stop still goes out.";
        this.frozen.show("FROZEN", text, duration(forMs / 1e3));
    }

    /** A part of what is always in sight fails; empty: none does. */
    showFailing(text: string): void {
        if (text === "") {
            this.failing.hide();
        } else {
            this.failing.show("FAULT", `A part of this page failed, and what it shows is old: ${text}`);
        }
    }

    private renderCutOff(nowMs: number): void {
        const { store } = this;
        const isCutOff = store.hello !== undefined && store.isCutOff(nowMs);
        document.documentElement.toggleAttribute("data-cut-off", isCutOff);
        if (!isCutOff) {
            this.cutOff.hide();
            return;
        }
        const isSilent = store.connection !== "open" || store.clock.isCutOff(nowMs);
        const forMs = isSilent ? store.clock.silenceMs(nowMs) : (store.roundTripMs ?? 0);
        setAttribute(this.cutOff.element, "data-late", isSilent ? undefined : "");
        this.cutOff.show(
            isSilent ? "CUT OFF" : "LATE",
            isSilent
                ? "Nothing comes from the station. What you see is old, and what you press goes nowhere; a stop is repeated until it arrives."
                : "The way to the station and back takes too long. What you see is old, and only the stop goes out.",
            duration(forMs / 1e3),
        );
    }
}
