/**
 * Retasking by a click: a small menu at the place, or an area that is drawn.
 *
 * In: a click on the map, or Enter, which is a click on its middle: arrow keys move the map below a cross-hair. Out: a task
 * for the commander. Without the lease it shows why nothing can be asked.
 */

import type OlMap from "ol/Map";
import Overlay from "ol/Overlay";
import Draw from "ol/interaction/Draw";
import type { Polygon } from "ol/geom";
import VectorLayer from "ol/layer/Vector";
import VectorSource from "ol/source/Vector";
import { Fill, Stroke, Style } from "ol/style";
import { Task } from "../generated/bowline/task_t.js";
import { type Context, whyNotAsk } from "../panels/panel.js";
import * as tasks from "../session/tasks.js";
import { button, el, setText } from "../shell/dom.js";
import { closeOnEscape } from "../shell/escape.js";
import { number } from "../shell/format.js";
import { themeColor } from "../shell/theme.js";

type Place = readonly [number, number];

export class Retask {
    private readonly menu: HTMLElement;
    private readonly title = el("p", { class: "where" });
    private readonly hint = el("p", { class: "hint" });
    private readonly overlay: Overlay;
    private readonly choices: HTMLButtonElement[];
    private readonly spacing = el("input", {
        type: "number",
        min: 1,
        max: 200,
        step: 1,
        value: 10,
        "aria-label": "Lane spacing, metres",
    });
    private readonly bar: HTMLElement;
    private readonly corners = el("span", { class: "sr", role: "status" });
    private readonly sketch = new VectorSource();
    private draw: Draw | undefined;
    private place: Place = [0, 0];

    constructor(
        private readonly map: OlMap,
        private readonly context: Context,
    ) {
        this.choices = [
            button("Go here", () => this.give(tasks.goTo(this.place), `go to ${this.where()}`), { class: "primary" }),
            button("Visit first, then go on", () =>
                this.give(tasks.visitFirst(this.place), `visit ${this.where()}, then go on`),
            ),
            button("Stay here", () => this.give(tasks.stay(this.place), `stay at ${this.where()}`)),
            button("Survey an area from here", () => this.beginArea()),
        ];
        this.menu = el(
            "div",
            { class: "retask", role: "dialog", "aria-label": "What to do at this place", hidden: true },
            this.title,
            this.hint,
            ...this.choices,
            button("Cancel", () => this.close(), { class: "quiet" }),
        );
        this.bar = el(
            "div",
            { class: "area-bar", role: "group", "aria-label": "Area to survey", hidden: true },
            el("span", {}, "Click the corners of the area, or put them under the cross-hair and press Enter"),
            this.corners,
            el("label", {}, "lanes every ", this.spacing, " m"),
            button("Survey it", () => this.finishArea(), { class: "primary" }),
            button("Cancel", () => this.endArea(), { class: "quiet" }),
        );
        this.overlay = new Overlay({
            element: this.menu,
            positioning: "top-left",
            offset: [10, 10],
            insertFirst: false,
            autoPan: { animation: { duration: 0 } },
        });
        map.addOverlay(this.overlay);
        map.addLayer(new VectorLayer({ source: this.sketch, zIndex: 20, style: sketchStyle }));
        map.on("singleclick", (event) => this.click(event.coordinate as [number, number]));
        map.getTargetElement().addEventListener("keydown", (event) => this.pressed(event));
    }

    /** The bar that is shown while an area is drawn. */
    get element(): HTMLElement {
        return this.bar;
    }

    /** Updates whether anything can be asked. */
    refresh(): void {
        if (this.menu.hidden) {
            return;
        }
        const why = this.whyNot();
        setText(this.hint, why);
        this.hint.hidden = why === "";
        for (const choice of this.choices) {
            choice.disabled = why !== "";
        }
    }

    private whyNot(): string {
        const { commander, view } = this.context;
        const isHolder = commander.bridge(view.vehicle)?.session.isHolder() ?? false;
        return whyNotAsk(this.context) || (isHolder ? "" : "Take control first.");
    }

    /** Enter on the map itself: a click on its middle. */
    private pressed(event: KeyboardEvent): void {
        const place = this.map.getView().getCenter();
        if (event.key !== "Enter" || event.target !== this.map.getTargetElement() || place === undefined) {
            return;
        }
        event.preventDefault();
        if (this.draw === undefined) {
            this.click(place as [number, number]);
        } else {
            this.draw.appendCoordinates([[...place]]);
            setText(this.corners, `corner at ${number(place[0])} m east, ${number(place[1])} m north`);
        }
    }

    private click(place: Place): void {
        if (this.draw !== undefined) {
            return;
        }
        this.place = place;
        setText(this.title, `${number(place[0])} m east, ${number(place[1])} m north`);
        this.menu.hidden = false;
        closeOnEscape(this.menu, () => this.close());
        this.overlay.setPosition([...place]);
        this.refresh();
        (this.choices.find((it) => !it.disabled) ?? this.menu.querySelector<HTMLElement>(".quiet"))?.focus();
    }

    private where(): string {
        return `${number(this.place[0])}, ${number(this.place[1])}`;
    }

    private give(task: Task, text: string): void {
        this.context.commander.giveTask(this.context.view.vehicle, task, text);
        this.close();
    }

    private close(): void {
        const hadFocus = this.menu.contains(document.activeElement);
        this.menu.hidden = true;
        this.overlay.setPosition(undefined);
        if (hadFocus) {
            this.map.getTargetElement().focus({ preventScroll: true });
        }
    }

    private beginArea(): void {
        this.close();
        this.bar.hidden = false;
        closeOnEscape(this.bar, () => this.endArea());
        setText(this.corners, "");
        this.draw = new Draw({ type: "Polygon", source: this.sketch, style: sketchStyle });
        this.map.addInteraction(this.draw);
        this.draw.appendCoordinates([[...this.place]]);
        this.draw.on("drawend", (event) => {
            const ring = (event.feature.getGeometry() as Polygon).getCoordinates()[0] ?? [];
            this.survey(ring.slice(0, -1) as unknown as Place[]);
        });
    }

    private finishArea(): void {
        this.draw?.finishDrawing();
    }

    private survey(corners: readonly Place[]): void {
        const spacing = Number(this.spacing.value);
        if (corners.length >= 3) {
            const task = tasks.survey(corners, spacing > 0 ? spacing : Number.NaN);
            this.give(task, `survey an area of ${corners.length} corners, lanes every ${number(spacing, 0)} m`);
        }
        // Within the event of the interaction it cannot be taken away.
        window.setTimeout(() => this.endArea());
    }

    private endArea(): void {
        if (this.draw !== undefined) {
            this.map.removeInteraction(this.draw);
            this.draw = undefined;
        }
        this.sketch.clear();
        const hadFocus = this.bar.contains(document.activeElement);
        this.bar.hidden = true;
        if (hadFocus) {
            this.map.getTargetElement().focus({ preventScroll: true });
        }
    }
}

function sketchStyle(): Style {
    return new Style({
        fill: new Fill({ color: themeColor("--ellipse") }),
        stroke: new Stroke({ color: themeColor("--plan"), width: 2, lineDash: [6, 4] }),
    });
}
