/**
 * The map: chart, what sensors made of it, vehicles, tracks and plans; a click asks for something. And its twin: the world
 * as a simulation knows it, seen from the same place.
 */

import { Control, defaults as defaultControls, ScaleLine } from "ol/control";
import { defaults as defaultInteractions, KeyboardPan, KeyboardZoom } from "ol/interaction";
import VectorLayer from "ol/layer/Vector";
import OlMap from "ol/Map";
import VectorSource from "ol/source/Vector";
import View from "ol/View";
import { Guidance } from "../generated/bowline/guidance_t.js";
import { MapT } from "../generated/bowline/map_t.js";
import { Path } from "../generated/bowline/path_t.js";
import { Plan } from "../generated/bowline/plan_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { ChartLayer } from "../map/chart.js";
import { type Look, PlanLayer, type PlanLook, VehicleMark } from "../map/drawing.js";
import { MAP_FRAME } from "../map/frame.js";
import { GridLayer } from "../map/grid.js";
import { css, paletteOf } from "../map/palette.js";
import { Retask } from "../map/retask.js";
import { button, el, screenScale, setAttribute, setShown, setText } from "../shell/dom.js";
import { number } from "../shell/format.js";
import { shownTheme } from "../shell/theme.js";
import type { Channel } from "../store/channel.js";
import type { VehicleView } from "../store/store.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

/** How much of the ground is seen at first, metres across. */
const FIRST_WIDTH_M = 160;

/** How far from the middle the vehicle may be while the map follows it, as a share of the map's size. */
const FREE_SHARE = 0.15;

/** What is most worth seeing of the ground, in this order. */
const PREFERRED = [/: depth/, /: travers/, /: height/];

/** A line that says where the vehicle means to go: who says it, and how it is read. */
interface Line {
    readonly look: PlanLook;
    readonly channel: (view: VehicleView) => Channel | undefined;
    /** What it is drawn for: it is drawn anew when this is another. Undefined: there is nothing to draw. */
    readonly of: (channel: Channel) => unknown;
    readonly points: (channel: Channel) => readonly (readonly number[])[] | undefined;
}

const waypoints = (channel: Channel): (readonly number[])[] | undefined =>
    channel.as(Path)?.waypoints.map((it) => [it.position[0] ?? 0, it.position[1] ?? 0]);

/** Both ends of the leg that is followed; undefined if none is. */
const leg = (channel: Channel): number[][] | undefined => {
    const guidance = channel.as(Guidance);
    return guidance?.kind === Guidance.LEG ? [[...guidance.from_m], [...guidance.to_m]] : undefined;
};

const LINES: readonly Line[] = [
    {
        look: "plan",
        channel: (view) => view.find(Plan, "plan"),
        of: (it) => it.as(Plan),
        points: (it) => it.as(Plan)?.states.map((state) => [state[0] ?? 0, state[1] ?? 0]),
    },
    { look: "lane", channel: (view) => view.channel("helm.plan"), of: (it) => it.as(Path), points: waypoints },
    { look: "goal", channel: (view) => view.channel("goals"), of: (it) => it.as(Path), points: waypoints },
    {
        look: "leg",
        channel: (view) => view.find(Guidance, "helm.guidance"),
        // The same leg is said again and again.
        of: (it) => leg(it)?.join(" "),
        points: leg,
    },
];

/** What a map shows: what the robot believes, or what is true. */
type Side = "belief" | "truth";

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
    private readonly chart: ChartLayer;
    private readonly sight: Sight;
    private readonly grid = new GridLayer();
    private readonly plans = new PlanLayer();
    private readonly source = new VectorSource();
    private readonly marks = new Map<string, VehicleMark>();
    private readonly map: OlMap;
    private readonly retask: Retask | undefined;
    private readonly planeChoice = el("select", { "aria-label": "Layer of the ground" });
    private readonly legend = el("div", { class: "legend", hidden: true });
    private readonly legendBar = el("span", { class: "bar" });
    private readonly legendText = el("span");
    private readonly note = el("p", { class: "map-note", role: "status", hidden: true });
    private readonly followButton: HTMLButtonElement;
    private readonly truthButton: HTMLButtonElement;
    private showsTruth = false;
    private planeKeys = "";
    private hasChosenPlane = false;
    /** Who says what the ground is like, as far as it is shown. */
    private ground: Channel | undefined;
    /** The colours and sizes that it is drawn with. */
    private style = "";

    constructor(
        private readonly context: Context,
        private readonly side: Side,
    ) {
        this.sight = Sight.of(context.view);
        this.chart = new ChartLayer(side === "truth");
        const what = side === "truth" ? "Map of what is true" : "Map";
        this.target = el("div", {
            class: "map-target",
            tabindex: "0",
            role: "application",
            "aria-label": `${what}. Arrow keys move it, plus and minus zoom${side === "truth" ? "" : ", Enter asks for something at its middle"}.`,
        });
        this.map = new OlMap({
            target: this.target,
            layers: [
                this.chart.layer,
                this.grid.layer,
                this.plans.layer,
                new VectorLayer({
                    source: this.source,
                    zIndex: 8,
                    updateWhileInteracting: true,
                    updateWhileAnimating: true,
                }),
            ],
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
        this.truthButton = button("Truth", () => this.toggleTruth(), { "aria-pressed": "false", hidden: true });
        this.planeChoice.addEventListener("change", () => (this.hasChosenPlane = true));
        this.legend.append(this.legendText, this.legendBar);
        const tools = el(
            "div",
            { class: "map-tools", role: "toolbar", "aria-label": "Map" },
            this.followButton,
            button("Whole", () => this.fit()),
            this.truthButton,
            this.planeChoice,
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
        this.map.addControl(new Control({ element: this.legend }));
        this.retask = new Retask(this.map, context);
        this.body.append(this.retask.element);
    }

    sources(): (Channel | undefined)[] {
        const { view } = this.context;
        if (this.side === "truth") {
            return [view.channel("truth.pose")];
        }
        const lines = LINES.map((line) => line.channel(view)).filter((it, i) => it && LINES[i]?.of(it) !== undefined);
        return [this.pose(), ...lines, this.ground];
    }

    render(picture: Picture): void {
        if (picture.isForText) {
            this.renderChart(picture.nowMs);
            this.followStyle();
        }
        if (this.side === "truth") {
            this.renderMark("truth", this.context.view.channel("truth.pose"), "front", "truth", picture.utime);
            return;
        }
        this.renderVehicles(picture);
        this.renderPlans(picture.utime);
        if (picture.isForText) {
            this.renderGrid(picture.utime);
            this.retask?.refresh();
        }
    }

    destroy(): void {
        this.map.setTarget(undefined);
        this.map.dispose();
    }

    private pose(): Channel | undefined {
        return this.context.view.find(PoseTransform, "pose");
    }

    private renderChart(nowMs: number): void {
        const urls = this.context.store.hello?.charts;
        if (urls !== undefined) {
            void this.chart.load(urls, nowMs);
        }
        const { missing } = this.chart;
        setShown(this.note, missing !== "");
        setText(this.note, missing === "" ? "" : `No chart: ${missing}`);
    }

    /** Draws everything anew when the page has other colours, or is on another screen. */
    private followStyle(): void {
        const style = `${shownTheme()} ${screenScale()}`;
        if (style !== this.style) {
            this.style = style;
            this.chart.restyle();
            this.plans.source.changed();
            this.source.changed();
        }
    }

    private renderVehicles({ utime }: Picture): void {
        const { store, view } = this.context;
        for (const vehicle of store.vehicles) {
            const look: Look = vehicle.prefix === view.vehicle.prefix ? "front" : "other";
            const channel = look === "front" ? this.pose() : store.channel(`${vehicle.prefix}pose`);
            this.renderMark(`${look} ${vehicle.prefix}`, channel, look, vehicle.name, utime);
        }
        const truth = view.channel("truth.pose");
        setShown(this.truthButton, truth !== undefined);
        if (this.showsTruth) {
            this.renderMark("truth", truth, "truth", "truth", utime);
        }
        const place = this.marks.get(`front ${view.vehicle.prefix}`)?.place;
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

    private renderMark(
        key: string,
        channel: Channel | undefined,
        look: Look,
        name: string,
        utime: number | undefined,
    ): void {
        const pose = channel?.as(PoseTransform);
        if (channel === undefined || pose === undefined) {
            return;
        }
        let mark = this.marks.get(key);
        if (mark === undefined) {
            mark = new VehicleMark(this.source, look, name);
            this.marks.set(key, mark);
        }
        mark.update(pose, channel.freshness(utime) !== "fresh", this.context.store.histories.track(channel.name));
    }

    private renderPlans(utime: number | undefined): void {
        for (const { look, channel, of, points } of LINES) {
            const from = channel(this.context.view);
            const isStale = from?.freshness(utime) === "stale";
            this.plans.show(look, from && of(from), isStale, () => (from && points(from)) ?? []);
        }
    }

    private renderGrid(utime: number | undefined): void {
        const maps = this.context.view.ofType(MapT).filter((channel) => channel.as(MapT) !== undefined);
        const keys = maps.flatMap((channel) =>
            (channel.as(MapT)?.names ?? []).map((name, i) => ({ key: `${channel.name} ${i}`, name, channel, i })),
        );
        const joined = keys.map(({ key }) => key).join();
        setShown(this.planeChoice, keys.length > 0);
        if (joined !== this.planeKeys) {
            this.offerPlanes(
                keys.map(({ key, name, channel }) => [key, `${this.context.view.shortName(channel)}: ${name}`]),
            );
            this.planeKeys = joined;
        }
        const chosen = keys.find(({ key }) => key === this.planeChoice.value);
        const map = chosen?.channel.as(MapT);
        this.grid.layer.setVisible(map !== undefined);
        this.ground = chosen?.channel;
        const isStale = this.ground?.freshness(utime) === "stale";
        this.grid.isStale = isStale;
        if (map !== undefined && chosen !== undefined) {
            this.grid.show(map, chosen.i);
        }
        this.renderLegend(map !== undefined, isStale);
    }

    private offerPlanes(planes: readonly (readonly [string, string])[]): void {
        const before = this.planeChoice.value;
        this.planeChoice.replaceChildren(
            el("option", { value: "" }, "no ground layer"),
            ...planes.map(([key, label]) => el("option", { value: key }, label)),
        );
        const preferred =
            PREFERRED.map((it) => planes.find(([, label]) => it.test(label))).find((it) => it) ?? planes[0];
        // Maps come one after the other: until somebody chooses, the one that is most worth seeing is shown.
        this.planeChoice.value = this.hasChosenPlane ? before : (preferred?.[0] ?? "");
    }

    private renderLegend(isShown: boolean, isStale: boolean): void {
        const { scale } = this.grid;
        setShown(this.legend, isShown && scale !== undefined);
        if (scale !== undefined) {
            setText(
                this.legendText,
                `${scale.plane} ${number(scale.low)} to ${number(scale.high)} ${scale.unit}, ${number(scale.known * 100, 0)} % known${isStale ? " (stale)" : ""}`,
            );
            const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => css(paletteOf(scale.plane), share)).join(", ");
            setAttribute(this.legendBar, "style", `background: linear-gradient(to right, ${stops})`);
        }
    }

    private follow(isWanted: boolean): void {
        this.sight.isCentred = false;
        this.sight.isFollowing = isWanted;
    }

    private toggleTruth(): void {
        this.showsTruth = !this.showsTruth;
        setAttribute(this.truthButton, "aria-pressed", String(this.showsTruth));
        if (!this.showsTruth) {
            this.source.clear();
            this.marks.clear();
        }
    }

    private fit(): void {
        this.follow(false);
        const extent = [Infinity, Infinity, -Infinity, -Infinity];
        for (const source of [this.chart.source, this.source]) {
            const [x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity] = source.getExtent() ?? [];
            [extent[0], extent[1]] = [Math.min(extent[0] ?? 0, x0), Math.min(extent[1] ?? 0, y0)];
            [extent[2], extent[3]] = [Math.max(extent[2] ?? 0, x1), Math.max(extent[3] ?? 0, y1)];
        }
        if (extent.every(Number.isFinite)) {
            this.map.getView().fit(extent, { padding: [48, 24, 48, 24], maxZoom: 30 });
        }
    }
}

export const map: PanelKind = {
    id: "map",
    title: "Map",
    types: [PoseTransform, MapT],
    shows: [Plan, Path, Guidance],
    per: "vehicle",
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
    places: { simulation: "hero" },
    make: (context) => new MapPanel(context, "truth"),
};
