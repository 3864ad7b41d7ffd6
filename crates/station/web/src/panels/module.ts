/**
 * Rows of a module that the station serves, made rows of the page: checked, and fenced in.
 *
 * In: what a module exports. Out: panels and layers like those that are built in. A panel that throws or is too slow is shown
 * as failed in its place by its card; for a layer that does the map shows it. Fetches nothing.
 */

import Feature from "ol/Feature";
import { LineString, MultiPoint, Point, Polygon } from "ol/geom";
import VectorLayer from "ol/layer/Vector";
import VectorSource from "ol/source/Vector";
import { Circle, Fill, Stroke, Style, Text } from "ol/style";
import type { Layer, LayerContext, LayerKind } from "../map/layer.js";
import { el, screenScale } from "../shell/dom.js";
import { themeColor } from "../shell/theme.js";
import type { Channel } from "../store/channel.js";
import { type Want, wantByName } from "../store/want.js";
import { News } from "./news.js";
import type { Context, PageId, Panel, PanelKind, Picture, Slot } from "./panel.js";
import { API_VERSION, channelsOf, type Reading, readingOf } from "./reading.js";
import type { Addition } from "./registry.js";

/** What one module may have of each. */
const MAX_ROWS = 16;
const MAX_TYPES = 16;
const MAX_PAST = 1_000;
const MAX_TITLE = 60;
const MAX_SHAPES = 1_000;
const MAX_CORNERS = 20_000;
/** A panel may keep the whole page from being drawn for longer than this once or twice, not more often. */
const SLOW_MS = 100;
const MAX_SLOW = 3;
/** The place of a panel whose row has none. */
const USUAL_PLACES: PanelKind["places"] = { sensors: "grid" };
const PAGES: readonly PageId[] = ["operate", "sensors", "simulation", "scene", "messages"];
const SLOTS: readonly Slot[] = ["hero", "side", "strip", "grid", "wide"];
const ID = /^[a-z][a-z0-9-]{0,31}$/;

type Fields = Readonly<Record<string, unknown>>;

/** The panels and layers of a module. What is wrong with one of them is shown in its place. */
export function additionOf(file: string, exported: unknown): Addition {
    try {
        const module = object(exported, "the module's default export");
        const panels = list(module.panels ?? [], "panels").map((it) => object(it, "a panel"));
        const layers = list(module.layers ?? [], "layers").map((it) => object(it, "a layer"));
        if (module.api !== API_VERSION) {
            const found = JSON.stringify(module.api) ?? "none";
            const error = new Error(
                `expected version ${API_VERSION} of the interface for panels, found ${found} in ${file}`,
            );
            // In the places of its panels, as far as it has any.
            const failed = panels.map((it, i) => failedPanel(file, error, it, i));
            return { panels: failed.length > 0 ? failed : [failedPanel(file, error)], layers: [] };
        }
        const failures: PanelKind[] = [];
        const kinds = panels.map((row, i) =>
            attempt(
                () => panelOf(file, row),
                (error) => failedPanel(file, error, row, i),
            ),
        );
        const made = layers.flatMap((row, i) =>
            attempt(
                () => [layerOf(file, row)],
                (error) => (failures.push(failedPanel(file, error, row, panels.length + i)), []),
            ),
        );
        return { panels: [...kinds, ...failures], layers: made };
    } catch (error) {
        return { panels: [failedPanel(file, error)], layers: [] };
    }
}

function attempt<T>(make: () => T, otherwise: (error: unknown) => T): T {
    try {
        return make();
    } catch (error) {
        return otherwise(error);
    }
}

/** A panel that only shows why there is no other in its place. */
export function failedPanel(file: string, error: unknown, row: Fields = {}, i = 0): PanelKind {
    return {
        id: `failed-${stem(file)}-${i}`,
        title: typeof row.title === "string" ? row.title.slice(0, MAX_TITLE) : file,
        types: [],
        per: "vehicle",
        places: attempt(
            () => placesOf(row),
            () => USUAL_PLACES,
        ),
        make: () => Promise.reject(error),
    };
}

function panelOf(file: string, row: Fields): PanelKind {
    const id = idOf(row);
    const per = row.per ?? "vehicle";
    if (per !== "vehicle" && per !== "channel") {
        throw new Error(`expected per "vehicle" or "channel", found ${JSON.stringify(per)}`);
    }
    const wants = wantsOf(row, `${stem(file)}-${id}`);
    if (per === "channel" && wants.length === 0) {
        throw new Error("expected types of a panel per channel, found none");
    }
    const make = method(row, "make");
    return {
        id: `${stem(file)}-${id}`,
        title: titleOf(row, id),
        types: wants,
        per,
        places: placesOf(row),
        make: async (context) => {
            const panel = new FencedPanel(context, wants);
            panel.fill(await make(panel.reading));
            return panel;
        },
    };
}

/** A module's panel, in a tree of its own: its styles reach nothing else, and it covers nothing outside of its place. */
class FencedPanel implements Panel {
    readonly body = el("div", { class: "fenced" });
    readonly reading: Reading;
    private inner: Fields = {};
    private utime: number | undefined;
    private nSlow = 0;

    constructor(
        private readonly context: Context,
        private readonly wants: readonly Want[],
    ) {
        this.reading = readingOf(context, wants, () => this.utime);
    }

    fill(made: unknown): void {
        this.inner = object(made, "what make returns");
        const { body } = this.inner;
        if (!(body instanceof HTMLElement)) {
            throw new Error("expected an element as the body of what make returns");
        }
        method(this.inner, "render");
        this.body.attachShadow({ mode: "open" }).append(body);
    }

    sources(): readonly (Channel | undefined)[] {
        const { channel, view } = this.context;
        return channel === undefined ? channelsOf(view, this.wants) : [channel];
    }

    render({ nowMs, utime, isForText }: Picture): void {
        if (this.nSlow >= MAX_SLOW) {
            throw new Error(
                `it took longer than ${SLOW_MS} ms to draw, ${MAX_SLOW} times in a row, and is drawn no more`,
            );
        }
        this.utime = utime;
        const beganMs = performance.now();
        try {
            method(this.inner, "render")({ nowMs, utime, isForText });
        } finally {
            this.nSlow = performance.now() - beganMs > SLOW_MS ? this.nSlow + 1 : 0;
        }
    }

    destroy(): void {
        if (this.inner.destroy !== undefined) {
            method(this.inner, "destroy")();
        }
    }
}

function layerOf(file: string, row: Fields): LayerKind {
    const id = idOf(row);
    const wants = wantsOf(row, `${stem(file)}-${id}`);
    const draw = method(row, "draw");
    return {
        id: `${stem(file)}-${id}`,
        types: wants,
        sides: ["belief"],
        make: (context) => new FencedLayer(context, wants, titleOf(row, id), draw),
    };
}

/** A module's layer: shapes, drawn anew when a message came or went stale. */
class FencedLayer implements Layer {
    private readonly source = new VectorSource();
    readonly drawn = new VectorLayer({ source: this.source, zIndex: 7, updateWhileInteracting: true });
    private readonly reading: Reading;
    private readonly news = new News();
    private utime: number | undefined;
    private failure = "";
    private nSlow = 0;

    constructor(
        private readonly context: LayerContext,
        private readonly wants: readonly Want[],
        private readonly title: string,
        private readonly draw: (reading: Reading) => unknown,
    ) {
        this.reading = readingOf(context, wants, () => this.utime);
    }

    sources(): Channel[] {
        return channelsOf(this.context.view, this.wants);
    }

    render({ utime, isForText }: Picture): void {
        const channels = this.sources();
        const isDue = isForText && this.nSlow < MAX_SLOW;
        if (!isDue || !this.news.has(...channels.flatMap((it) => [it.bytes, it.freshness(utime)]))) {
            return;
        }
        this.utime = utime;
        const beganMs = performance.now();
        try {
            const shapes = list(this.draw(this.reading), "shapes", MAX_SHAPES).map(featureOf);
            this.source.clear();
            this.source.addFeatures(shapes);
            this.failure = "";
        } catch (error) {
            // What it has drawn before is not to be believed.
            this.source.clear();
            this.failure = error instanceof Error ? error.message : String(error);
            this.context.store.fault(error);
        }
        this.nSlow = performance.now() - beganMs > SLOW_MS ? this.nSlow + 1 : 0;
        if (this.nSlow >= MAX_SLOW) {
            this.source.clear();
            this.failure = `it took longer than ${SLOW_MS} ms to draw, ${MAX_SLOW} times in a row, and is drawn no more`;
        }
    }

    restyle(): void {
        this.source.changed();
    }

    extent(): readonly number[] | undefined {
        return this.source.getExtent() ?? undefined;
    }

    note(): string {
        return this.failure === "" ? "" : `The layer ${this.title} failed: ${this.failure}`;
    }
}

/** A shape: corners in metres of the map frame, and how they are drawn. */
function featureOf(shape: unknown): Feature {
    const row = object(shape, "a shape");
    const color = typeof row.color === "string" ? row.color : themeColor("--accent");
    const width = typeof row.widthPx === "number" && row.widthPx > 0 && row.widthPx < 100 ? row.widthPx : 2;
    const stroke = new Stroke({ color, width, ...(row.isDashed === true && { lineDash: [6, 5] }) });
    const feature = new Feature(geometryOf(row));
    const text = typeof row.text === "string" ? row.text.slice(0, MAX_TITLE) : "";
    feature.setStyle(
        new Style({
            stroke,
            ...(row.fill !== undefined && { fill: new Fill({ color: String(row.fill) }) }),
            image: new Circle({ radius: 2 * width, fill: new Fill({ color }) }),
            ...(text !== "" && {
                text: new Text({
                    text,
                    offsetY: -12 * screenScale(),
                    font: `${11 * screenScale()}px B612`,
                    fill: new Fill({ color: themeColor("--chart-text") }),
                }),
            }),
        }),
    );
    return feature;
}

function geometryOf({ line, polygon, points }: Fields): LineString | Polygon | MultiPoint | Point {
    if (line !== undefined) {
        return new LineString(cornersOf(line, 2));
    }
    if (polygon !== undefined) {
        return new Polygon([cornersOf(polygon, 3)]);
    }
    if (points !== undefined) {
        return new MultiPoint(cornersOf(points, 1));
    }
    throw new Error("expected a shape with line, polygon or points");
}

function cornersOf(value: unknown, least: number): [number, number][] {
    const corners = list(value, "corners", MAX_CORNERS).map((it): [number, number] => {
        const [x, y] = Array.isArray(it) || ArrayBuffer.isView(it) ? (it as readonly unknown[]) : [];
        if (typeof x !== "number" || typeof y !== "number" || !Number.isFinite(x + y)) {
            throw new Error(`expected corners [east, north] in metres, found ${String(it)}`);
        }
        return [x, y];
    });
    if (corners.length < least) {
        throw new Error(`expected at least ${least} corners, found ${corners.length}`);
    }
    return corners;
}

function wantsOf(row: Fields, owner: string): Want[] {
    return list(row.types ?? [], "types", MAX_TYPES).map((it) => {
        const { type, maxHz, past, series } = typeof it === "string" ? ({ type: it } as Fields) : object(it, "a type");
        if (typeof type !== "string" || type === "") {
            throw new Error(`expected the name of a type with its package, found ${JSON.stringify(type)}`);
        }
        const quantities = Object.entries(object(series ?? {}, "series"));
        return wantByName(type, owner, {
            ...(maxHz !== undefined && { maxHz: within(maxHz, "maxHz", 100) }),
            ...(past !== undefined && { past: within(past, "past", MAX_PAST) }),
            series: Object.fromEntries(quantities.map(([name, of]) => [name, quantity(of, name)])),
        });
    });
}

/** A quantity that a message does not have is unknown there. */
function quantity(of: unknown, name: string): (message: Fields) => number {
    if (typeof of !== "function") {
        throw new Error(`expected a function from a message to a number as series ${name}`);
    }
    return (message) =>
        attempt(
            () => Number(of(message)),
            () => Number.NaN,
        );
}

function placesOf({ places }: Fields): PanelKind["places"] {
    if (places === undefined) {
        return USUAL_PLACES;
    }
    const found = Object.entries(object(places, "places"));
    for (const [page, slot] of found) {
        if (!PAGES.some((it) => it === page) || !SLOTS.some((it) => it === slot)) {
            throw new Error(
                `expected places from pages (${PAGES.join(", ")}) to slots (${SLOTS.join(", ")}), found ${page}: ${String(slot)}`,
            );
        }
    }
    return found.length === 0 ? USUAL_PLACES : (Object.fromEntries(found) as PanelKind["places"]);
}

function idOf({ id }: Fields): string {
    if (typeof id !== "string" || !ID.test(id)) {
        throw new Error(`expected an id of lower-case letters, digits and -, found ${JSON.stringify(id)}`);
    }
    return id;
}

function titleOf({ title }: Fields, id: string): string {
    return typeof title === "string" && title !== "" ? title.slice(0, MAX_TITLE) : id;
}

function within(value: unknown, name: string, most: number): number {
    if (typeof value !== "number" || !(value >= 0 && value <= most)) {
        throw new Error(`expected ${name} from 0 to ${most}, found ${String(value)}`);
    }
    return value;
}

function object(value: unknown, what: string): Fields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw new Error(`expected an object as ${what}, found ${value === null ? "null" : typeof value}`);
    }
    return value as Fields;
}

function list(value: unknown, what: string, most = MAX_ROWS): readonly unknown[] {
    if (!Array.isArray(value)) {
        throw new Error(`expected a list of ${what}, found ${typeof value}`);
    }
    if (value.length > most) {
        throw new Error(`expected at most ${most} ${what}, found ${value.length}`);
    }
    return value;
}

/** A function of an object, called as its own. */
function method(of: Fields, name: string): (...args: readonly unknown[]) => unknown {
    const found = of[name];
    if (typeof found !== "function") {
        throw new Error(`expected a function ${name}, found ${typeof found}`);
    }
    return (...args) => found.apply(of, args);
}

/** The name of a file without its ending, as part of an id. */
function stem(file: string): string {
    return file.replace(/\.js$/, "").replace(/[^a-z0-9-]/gi, "-");
}
