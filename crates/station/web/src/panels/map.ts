/**
 * The map: the layers of `map/layers.ts` and of modules, one above the other; a click asks for something. And its twin: the
 * world as a simulation knows it, seen from the same place.
 */

import { Control, defaults as defaultControls, ScaleLine } from "ol/control";
import { defaults as defaultInteractions, KeyboardPan, KeyboardZoom } from "ol/interaction";
import OlMap from "ol/Map";
import View from "ol/View";
import { MapT } from "../generated/bowline/map_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { MAP_FRAME, placeOf } from "../map/frame.js";
import type { Layer, Side } from "../map/layer.js";
import { Retask } from "../map/retask.js";
import { button, el, screenScale, setAttribute, setShown, setText } from "../shell/dom.js";
import { shownTheme } from "../shell/theme.js";
import type { Channel } from "../store/channel.js";
import type { VehicleView } from "../store/store.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

/** How much of the ground is seen at first, metres across. */
const FIRST_WIDTH_M = 160;
/** The least that "Whole" shows, metres. */
const LEAST_WIDTH_M = 50;

/** How far from the middle the vehicle may be while the map follows it, as a share of the map's size. */
const FREE_SHARE = 0.15;

/** Where one looks at: the same on both maps of a vehicle. */
class Sight {
    readonly view = new View({
        projection: MAP_FRAME,
        center: [0, 0],
        resolution: 0.5,
        minResolution: 0.01,
        maxResolution: 200,
        enableRotation: false,
    });
    isFollowing = true;
    hasFitted = false;
    isCentred = false;

    private static readonly known = new WeakMap<VehicleView, Sight>();

    static of(view: VehicleView): Sight {
        const sight = Sight.known.get(view) ?? new Sight();
        Sight.known.set(view, sight);
        return sight;
    }
}

class MapPanel implements Panel {
    readonly body = el("div", { class: "map" });
    private readonly target: HTMLElement;
    private readonly sight: Sight;
    private readonly layers: readonly Layer[];
    private readonly map: OlMap;
    private readonly retask: Retask | undefined;
    private readonly note = el("p", { class: "map-note", role: "status", hidden: true });
    private readonly followButton: HTMLButtonElement;
    /** The colours and sizes that it is drawn with. */
    private style = "";

    constructor(
        private readonly context: Context,
        private readonly side: Side,
    ) {
        this.sight = Sight.of(context.view);
        const { store, view, layers } = context;
        this.layers = layers.filter((it) => it.sides.includes(side)).map((it) => it.make({ store, view, side }));
        const what = side === "truth" ? "Map of what is true" : "Map";
        this.target = el("div", {
            class: "map-target",
            tabindex: "0",
            role: "application",
            "aria-label": `${what}. Arrow keys move it, plus and minus zoom${side === "truth" ? "" : ", Enter asks for something at its middle"}.`,
        });
        this.map = new OlMap({
            target: this.target,
            layers: this.layers.map((it) => it.drawn),
            controls: defaultControls({ attribution: false, rotate: false }).extend([
                new ScaleLine({ units: "metric" }),
            ]),
            interactions: defaultInteractions({
                altShiftDragRotate: false,
                pinchRotate: false,
                keyboard: false,
            }).extend([new KeyboardPan({ condition: () => !context.controls.isEngaged }), new KeyboardZoom()]),
            view: this.sight.view,
        });
        this.followButton = button("Follow", () => this.follow(!this.sight.isFollowing));
        const tools = el(
            "div",
            { class: "map-tools", role: "toolbar", "aria-label": "Map" },
            this.followButton,
            button("Whole", () => this.fit()),
            ...this.layers.flatMap((it) => it.tools ?? []),
        );
        this.body.append(this.target);
        this.map.addControl(new Control({ element: this.note }));
        this.map.on("pointerdrag", () => this.follow(false));
        this.target.addEventListener("keydown", ({ key }) => {
            if (key.startsWith("Arrow") && !context.controls.isEngaged) {
                this.follow(false);
            }
        });
        if (side === "truth") {
            return;
        }
        // As controls of the map they are below the menu of a click.
        this.map.addControl(new Control({ element: tools }));
        for (const { legend } of this.layers) {
            if (legend !== undefined) {
                this.map.addControl(new Control({ element: legend }));
            }
        }
        this.retask = new Retask(this.map, context);
        this.body.append(this.retask.element);
    }

    sources(): (Channel | undefined)[] {
        const sources = this.layers.flatMap((it) => it.sources?.() ?? []);
        // What moves comes first: its age is the one that counts while nothing is overdue.
        return [...new Set(this.side === "belief" ? [this.pose(), ...sources] : sources)];
    }

    render(picture: Picture): void {
        for (const layer of this.layers) {
            layer.render(picture);
        }
        if (picture.isForText) {
            const note = this.layers.map((it) => it.note?.() ?? "").filter((it) => it !== "");
            setShown(this.note, note.length > 0);
            setText(this.note, note.join("; "));
            this.followStyle();
            this.retask?.refresh();
        }
        if (this.side === "belief") {
            this.followVehicle();
        }
    }

    destroy(): void {
        this.layers.forEach((it) => it.destroy?.());
        this.map.setTarget(undefined);
        this.map.dispose();
    }

    private pose(): Channel | undefined {
        return this.context.view.find(PoseTransform, "pose");
    }

    /** Draws everything anew when the page has other colours, or is on another screen. */
    private followStyle(): void {
        const style = `${shownTheme()} ${screenScale()}`;
        if (style !== this.style) {
            this.style = style;
            this.layers.forEach((it) => it.restyle?.());
        }
    }

    private followVehicle(): void {
        const pose = this.pose()?.as(PoseTransform);
        const place = pose && placeOf(pose);
        const { sight } = this;
        setAttribute(this.followButton, "aria-pressed", String(sight.isFollowing));
        if (place !== undefined && sight.isFollowing && this.target.clientWidth > 0) {
            if (!sight.hasFitted) {
                sight.hasFitted = true;
                sight.view.setResolution(FIRST_WIDTH_M / this.target.clientWidth);
            }
            this.keepInSight(place);
        }
    }

    /** Moves the map only when the vehicle leaves the middle of it: a map that never rests is hard to read, and to draw. */
    private keepInSight(place: [number, number]): void {
        const view = this.map.getView();
        const [x = 0, y = 0] = view.getCenter() ?? [];
        const resolution = view.getResolution() ?? 1;
        const { clientWidth, clientHeight } = this.target;
        const isOff =
            Math.abs(place[0] - x) > FREE_SHARE * clientWidth * resolution ||
            Math.abs(place[1] - y) > FREE_SHARE * clientHeight * resolution;
        if (isOff || !this.sight.isCentred) {
            this.sight.isCentred = true;
            view.setCenter(place);
        }
    }

    private follow(isWanted: boolean): void {
        this.sight.isCentred = false;
        this.sight.isFollowing = isWanted;
    }

    private fit(): void {
        this.follow(false);
        const extent = [Infinity, Infinity, -Infinity, -Infinity];
        for (const layer of this.layers) {
            const [x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity] = layer.extent?.() ?? [];
            [extent[0], extent[1]] = [Math.min(extent[0] ?? 0, x0), Math.min(extent[1] ?? 0, y0)];
            [extent[2], extent[3]] = [Math.max(extent[2] ?? 0, x1), Math.max(extent[3] ?? 0, y1)];
        }
        if (extent.every(Number.isFinite)) {
            const [x0, y0, x1, y1] = extent as [number, number, number, number];
            // A vehicle alone is a point, and no scale shows a point.
            const margin = (size: number): number => Math.max(0, LEAST_WIDTH_M - size) / 2;
            const [dx, dy] = [margin(x1 - x0), margin(y1 - y0)];
            this.map.getView().fit([x0 - dx, y0 - dy, x1 + dx, y1 + dy], { padding: [48, 24, 48, 24], maxZoom: 30 });
        }
    }
}

export const map: PanelKind = {
    id: "map",
    title: "Map",
    types: [PoseTransform, MapT],
    per: "vehicle",
    hasLayers: true,
    places: { operate: "hero", simulation: "hero" },
    make: (context) => new MapPanel(context, "belief"),
};

/** Beside what the robot believes, what is true: only a simulation knows. */
export const truthMap: PanelKind = {
    id: "truth-map",
    title: "What is true",
    types: [],
    isWanted: (view) => view.channel("truth.pose") !== undefined,
    per: "vehicle",
    hasLayers: true,
    places: { simulation: "hero" },
    make: (context) => new MapPanel(context, "truth"),
};
