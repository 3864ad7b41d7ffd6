/** The layer of what sensors made of the ground: one plane of one map, with a choice and a legend. */

import { MapT } from "../generated/bowline/map_t.js";
import type { Picture } from "../panels/panel.js";
import { el, setAttribute, setShown, setText } from "../shell/dom.js";
import { number } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import { want } from "../store/want.js";
import { GridLayer } from "./grid.js";
import type { Layer, LayerContext, LayerKind } from "./layer.js";
import { css, paletteOf } from "./palette.js";

/** What is most worth seeing of the ground, in this order. */
const PREFERRED = [/: depth/, /: travers/, /: height/];

class GroundLayer implements Layer {
    private readonly grid = new GridLayer();
    readonly drawn = this.grid.layer;
    private readonly choice = el("select", { "aria-label": "Layer of the ground" });
    readonly tools = [this.choice];
    readonly legend = el("div", { class: "legend", hidden: true });
    private readonly bar = el("span", { class: "bar" });
    private readonly text = el("span");
    private planeKeys = "";
    private hasChosen = false;
    /** The channel of the map that is shown. */
    private shown: Channel | undefined;

    constructor(private readonly context: LayerContext) {
        this.choice.addEventListener("change", () => (this.hasChosen = true));
        this.legend.append(this.text, this.bar);
    }

    sources(): (Channel | undefined)[] {
        return [this.shown];
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const { view } = this.context;
        const maps = view.ofType(MapT).filter((channel) => channel.as(MapT) !== undefined);
        const planes = maps.flatMap((channel) =>
            (channel.as(MapT)?.names ?? []).map((name, i) => ({ key: `${channel.name} ${i}`, name, channel, i })),
        );
        setShown(this.choice, planes.length > 0);
        this.offer(planes.map(({ key, name, channel }) => [key, `${view.shortName(channel)}: ${name}`]));
        const chosen = planes.find(({ key }) => key === this.choice.value);
        const map = chosen?.channel.as(MapT);
        this.drawn.setVisible(map !== undefined);
        this.shown = chosen?.channel;
        const isStale = this.shown?.freshness(utime) === "stale";
        this.grid.isStale = isStale;
        if (map !== undefined && chosen !== undefined) {
            this.grid.show(map, chosen.i);
        }
        this.renderLegend(map !== undefined, isStale);
    }

    private offer(planes: readonly (readonly [string, string])[]): void {
        const keys = planes.map(([key]) => key).join();
        if (keys === this.planeKeys) {
            return;
        }
        this.planeKeys = keys;
        const before = this.choice.value;
        this.choice.replaceChildren(
            el("option", { value: "" }, "no ground layer"),
            ...planes.map(([key, label]) => el("option", { value: key }, label)),
        );
        const preferred =
            PREFERRED.map((it) => planes.find(([, label]) => it.test(label))).find((it) => it) ?? planes[0];
        // Maps come one after the other: until a person chooses, the one that is most worth seeing is shown.
        this.choice.value = this.hasChosen ? before : (preferred?.[0] ?? "");
    }

    private renderLegend(isShown: boolean, isStale: boolean): void {
        const { scale } = this.grid;
        setShown(this.legend, isShown && scale !== undefined);
        if (scale !== undefined) {
            setText(
                this.text,
                `${scale.plane} ${number(scale.low)} to ${number(scale.high)} ${scale.unit}, ${number(scale.known * 100, 0)} % known${isStale ? " (stale)" : ""}`,
            );
            const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => css(paletteOf(scale.plane), share)).join(", ");
            setAttribute(this.bar, "style", `background: linear-gradient(to right, ${stops})`);
        }
    }
}

export const ground: LayerKind = {
    id: "ground",
    types: [want(MapT, { maxHz: 1 })],
    sides: ["belief"],
    make: (context) => new GroundLayer(context),
};
