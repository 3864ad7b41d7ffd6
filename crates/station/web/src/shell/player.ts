/** Controls of the log's player: play, pause, step, rate, and where in the log. Only there when the station plays one. */

import type { Commander } from "../app/commander.js";
import type { Picture } from "../panels/panel.js";
import type { Store } from "../store/store.js";
import { button, el, setAttribute, setEnabled, setShown, setText } from "./dom.js";
import { clockTime, duration, number } from "./format.js";

const RATES = [0.25, 0.5, 1, 2, 5, 10];

export class PlayerBar {
    readonly element: HTMLElement;
    private readonly toggle: HTMLButtonElement;
    private readonly slider = el("input", {
        type: "range",
        min: 0,
        max: 1_000,
        step: 1,
        value: 0,
        "aria-label": "Place in the log",
    });
    private readonly where = el("span", { class: "where" });
    private readonly rate = el(
        "select",
        { "aria-label": "Rate" },
        ...RATES.map((it) => el("option", { value: it }, `${it} ×`)),
    );
    private readonly loop: HTMLButtonElement;
    private readonly marks = el("select", { "aria-label": "Bookmarks" });
    private readonly controls: readonly (HTMLButtonElement | HTMLInputElement | HTMLSelectElement)[];
    private readonly hint = el("span", { class: "hint", hidden: true }, "You are a viewer: operators play.");
    private isDragging = false;
    private shownMarks = "";

    constructor(
        private readonly store: Store,
        private readonly commander: Commander,
    ) {
        this.toggle = button(
            "Pause",
            () => this.ask(this.store.status?.player?.state === "playing" ? "pause" : "play"),
            { class: "primary" },
        );
        this.loop = button("Loop", () => this.ask("loop", this.store.status?.player?.is_looping ? 0 : 1), {
            "aria-pressed": "false",
        });
        this.slider.addEventListener("pointerdown", () => (this.isDragging = true));
        this.slider.addEventListener("change", () => this.seek());
        this.rate.addEventListener("change", () => this.ask("rate", Number(this.rate.value)));
        this.marks.addEventListener("change", () => this.marks.value && this.ask("bookmark", this.marks.value));
        const steps = [
            button("Step", () => this.ask("step")),
            button("−10 s", () => this.ask("seek_by", -10)),
            button("+10 s", () => this.ask("seek_by", 10)),
        ];
        this.controls = [this.toggle, ...steps, this.slider, this.rate, this.loop, this.marks];
        this.element = el(
            "section",
            { class: "player", "aria-label": "Log player", hidden: true },
            this.toggle,
            ...steps,
            this.slider,
            this.where,
            this.rate,
            this.loop,
            this.marks,
            this.hint,
        );
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const player = this.store.status?.player;
        setShown(this.element, player !== undefined);
        if (player === undefined) {
            return;
        }
        const isViewer = this.store.hello?.role === "viewer";
        this.controls.forEach((it) => setEnabled(it, !isViewer));
        setShown(this.hint, isViewer);
        setText(this.toggle, player.state === "playing" ? "Pause" : player.state === "ended" ? "Again" : "Play");
        const span = Math.max(1, player.last_utime - player.first_utime);
        const at = Math.min(player.last_utime, Math.max(player.first_utime, utime ?? player.utime));
        if (!this.isDragging) {
            this.slider.value = String(Math.round(((at - player.first_utime) / span) * 1_000));
        }
        setText(
            this.where,
            `${clockTime(at)} · ${duration((at - player.first_utime) / 1e6)} of ${duration(span / 1e6)}${player.state === "playing" ? "" : ` · ${player.state}`}${player.error ? ` · ${player.error}` : ""}`,
        );
        if (document.activeElement !== this.rate) {
            this.rate.value = String(
                RATES.reduce((a, b) => (Math.abs(b - player.rate) < Math.abs(a - player.rate) ? b : a), 1),
            );
        }
        setAttribute(this.loop, "aria-pressed", String(player.is_looping));
        this.renderMarks(player.bookmarks ?? []);
    }

    private renderMarks(marks: readonly { readonly utime: number; readonly text: string }[]): void {
        setShown(this.marks, marks.length > 0);
        const joined = marks.map((it) => `${it.utime} ${it.text}`).join("\n");
        if (joined !== this.shownMarks) {
            this.shownMarks = joined;
            this.marks.replaceChildren(
                el("option", { value: "" }, "bookmarks"),
                ...marks.map((it) => el("option", { value: it.text }, it.text || clockTime(it.utime))),
            );
        }
    }

    private seek(): void {
        this.isDragging = false;
        const player = this.store.status?.player;
        if (player !== undefined) {
            const share = Number(this.slider.value) / 1_000;
            this.ask("seek_to", Math.round(player.first_utime + share * (player.last_utime - player.first_utime)));
        }
    }

    private ask(action: string, value?: number | string): void {
        const request = { what: "player", action, ...(value !== undefined && { value }) } as const;
        void this.commander.request(
            request,
            `player: ${action}${typeof value === "number" ? ` ${number(value, 1)}` : ""}`,
        );
    }
}
