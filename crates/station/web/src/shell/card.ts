/** The frame around a panel: its name, what it shows, how old that is; and what is left of a panel that fails. */

import { type Panel, type PanelKind, type Picture, worstOf } from "../panels/panel.js";
import type { Channel, Freshness } from "../store/channel.js";
import { el, setAttribute, setShown, setText } from "./dom.js";
import { duration, number } from "./format.js";

const OUT_OF_SIGHT_EVERY_MS = 500;

export class Card {
    readonly element: HTMLElement;
    private readonly chip: HTMLElement;
    private readonly content: HTMLElement;
    private readonly failure = el("p", { class: "refused", role: "status", hidden: true });
    private panel: Panel | undefined;
    private isVisible = true;
    private renderedMs = Number.NEGATIVE_INFINITY;
    private isDestroyed = false;
    private readonly observer: IntersectionObserver;

    /** `onFault` receives what goes wrong in the panel, once for each time that it begins to. */
    constructor(
        readonly key: string,
        kind: PanelKind,
        subtitle: string,
        making: Panel | Promise<Panel>,
        private readonly onFault: (error: unknown) => void,
    ) {
        this.chip = el("span", { class: "chip", "data-fresh": "none" });
        this.content = el("div", { class: "content" });
        const id = `panel-${key.replace(/[^\w-]/g, "-")}`;
        this.element = el(
            "section",
            {
                class: `card panel-${kind.id}`,
                "aria-labelledby": `${id} ${id}-of`,
                "data-fresh": "none",
                "data-panel": kind.id,
            },
            el(
                "header",
                {},
                el("h2", { id }, kind.title),
                el("span", { id: `${id}-of`, class: "subtitle" }, subtitle),
                this.chip,
            ),
            this.failure,
            this.content,
        );
        this.observer = new IntersectionObserver(([entry]) => {
            this.isVisible = entry?.isIntersecting ?? true;
        });
        this.observer.observe(this.element);
        // What is there at once is in the next picture.
        if (making instanceof Promise) {
            making.then(
                (panel) => this.fill(panel),
                (error: unknown) => this.fail(error),
            );
        } else {
            this.fill(making);
        }
    }

    render(picture: Picture): void {
        // What is out of sight is still read aloud, and must not be old when it comes into sight.
        const isDue = this.isVisible || (picture.isForText && picture.nowMs - this.renderedMs >= OUT_OF_SIGHT_EVERY_MS);
        // One that failed is tried again when texts may change: what it failed on may be over.
        const isSpared = !this.failure.hidden && !picture.isForText;
        if (!isDue || isSpared || this.panel === undefined) {
            return;
        }
        this.renderedMs = picture.nowMs;
        try {
            this.panel.render(picture);
            if (picture.isForText) {
                this.renderAge(this.panel, picture);
            }
            setShown(this.failure, false);
        } catch (error) {
            this.fail(error);
        }
    }

    destroy(): void {
        this.isDestroyed = true;
        this.observer.disconnect();
        try {
            this.panel?.destroy?.();
        } catch (error) {
            this.onFault(error);
        }
        this.element.remove();
    }

    private fill(panel: Panel): void {
        if (this.isDestroyed) {
            panel.destroy?.();
            return;
        }
        this.panel = panel;
        this.content.append(panel.body);
    }

    /** What it still shows is not to be believed. */
    private fail(error: unknown): void {
        if (this.failure.hidden) {
            this.onFault(error);
        }
        setText(this.failure, `this panel failed: ${error instanceof Error ? error.message : String(error)}`);
        setShown(this.failure, true);
        setAttribute(this.element, "data-fresh", "stale");
        setAttribute(this.chip, "data-fresh", "stale");
        setText(this.chip, "failed");
    }

    private renderAge(panel: Panel, { utime }: Picture): void {
        const sources = panel.sources().filter((it) => it !== undefined);
        const main = worstOf(sources, utime);
        const freshness: Freshness = main?.freshness(utime) ?? "none";
        setAttribute(this.element, "data-fresh", sources.length === 0 ? "own" : freshness);
        setAttribute(this.chip, "data-fresh", freshness);
        setText(this.chip, main === undefined ? "" : ageOf(main, utime));
    }
}

/** How fresh a channel is, in a few letters: its age once that matters, else how often it comes. */
export function ageOf(channel: Channel, utime: number | undefined): string {
    const [freshness, { periodUs }, oldS] = [channel.freshness(utime), channel, channel.oldS(utime)];
    if (freshness === "none") {
        return "no data";
    }
    if (freshness === "stale") {
        return `stale ${duration(channel.ageS(utime))}`;
    }
    if (oldS !== undefined) {
        return `${duration(oldS)} old`;
    }
    return periodUs ? `${number(1e6 / periodUs, periodUs > 2e5 ? 1 : 0)} Hz` : "live";
}
