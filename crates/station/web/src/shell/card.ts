/** The frame around a panel: its name, what it shows, how old that is. */

import type { Panel, PanelKind, Picture } from "../panels/panel.js";
import type { Freshness } from "../store/channel.js";
import { el, setAttribute, setText } from "./dom.js";
import { duration, number } from "./format.js";

const OUT_OF_SIGHT_EVERY_MS = 500;

export class Card {
    readonly element: HTMLElement;
    private readonly chip: HTMLElement;
    private readonly content: HTMLElement;
    private panel: Panel | undefined;
    private isVisible = true;
    private renderedMs = Number.NEGATIVE_INFINITY;
    private isDestroyed = false;
    private readonly observer: IntersectionObserver;

    constructor(
        readonly key: string,
        kind: PanelKind,
        subtitle: string,
        making: Panel | Promise<Panel>,
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
            this.content,
        );
        this.observer = new IntersectionObserver(([entry]) => {
            this.isVisible = entry?.isIntersecting ?? true;
        });
        this.observer.observe(this.element);
        void this.fill(making);
    }

    render(picture: Picture): void {
        // What is out of sight is still read aloud, and must not be old when it comes into sight.
        const isDue = this.isVisible || (picture.isForText && picture.nowMs - this.renderedMs >= OUT_OF_SIGHT_EVERY_MS);
        if (!isDue || this.panel === undefined) {
            return;
        }
        this.renderedMs = picture.nowMs;
        this.panel.render(picture);
        if (picture.isForText) {
            this.renderAge(this.panel, picture);
        }
    }

    destroy(): void {
        this.isDestroyed = true;
        this.observer.disconnect();
        this.panel?.destroy?.();
        this.element.remove();
    }

    private async fill(making: Panel | Promise<Panel>): Promise<void> {
        try {
            const panel = await making;
            if (this.isDestroyed) {
                panel.destroy?.();
                return;
            }
            this.panel = panel;
            this.content.append(panel.body);
        } catch (error) {
            this.content.append(el("p", { class: "empty" }, `This panel cannot be shown: ${String(error)}`));
        }
    }

    private renderAge(panel: Panel, { utime }: Picture): void {
        const sources = panel.sources().filter((it) => it !== undefined);
        const [main] = sources;
        const freshness: Freshness = main?.freshness(utime) ?? "none";
        setAttribute(this.element, "data-fresh", sources.length === 0 ? "own" : freshness);
        setAttribute(this.chip, "data-fresh", freshness);
        if (main === undefined) {
            setText(this.chip, "");
        } else if (freshness === "stale") {
            setText(this.chip, `stale ${duration(main.ageS(utime))}`);
        } else if (freshness === "none") {
            setText(this.chip, "no data");
        } else {
            setText(
                this.chip,
                main.periodUs ? `${number(1e6 / main.periodUs, main.periodUs > 2e5 ? 1 : 0)} Hz` : "live",
            );
        }
    }
}
