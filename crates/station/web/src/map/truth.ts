/** The layer of where the vehicle truly is, which only a simulation knows: beside what it believes where that is asked for. */

import VectorLayer from "ol/layer/Vector";
import VectorSource from "ol/source/Vector";
import type { Picture } from "../panels/panel.js";
import { button, setAttribute, setShown } from "../shell/dom.js";
import type { Channel } from "../store/channel.js";
import { Marks } from "./drawing.js";
import type { Layer, LayerContext, LayerKind } from "./layer.js";

class TruthLayer implements Layer {
    private readonly source = new VectorSource();
    readonly drawn = new VectorLayer({
        source: this.source,
        zIndex: 8,
        updateWhileInteracting: true,
        updateWhileAnimating: true,
    });
    private readonly toggle = button("Truth", () => this.show(!this.isShown), {
        "aria-pressed": "false",
        hidden: true,
    });
    readonly tools: readonly HTMLElement[];
    private readonly marks: Marks;
    private isShown: boolean;

    constructor(private readonly context: LayerContext) {
        this.marks = new Marks(this.source, context.store.histories);
        this.isShown = context.side === "truth";
        this.tools = this.isShown ? [] : [this.toggle];
    }

    sources(): (Channel | undefined)[] {
        return this.context.side === "truth" ? [this.truth()] : [];
    }

    render({ utime }: Picture): void {
        setShown(this.toggle, this.truth() !== undefined);
        if (this.isShown) {
            this.marks.show("truth", this.truth(), "truth", "truth", utime);
        }
    }

    restyle(): void {
        this.source.changed();
    }

    extent(): readonly number[] | undefined {
        return this.source.getExtent() ?? undefined;
    }

    private truth(): Channel | undefined {
        return this.context.view.channel("truth.pose");
    }

    private show(isShown: boolean): void {
        this.isShown = isShown;
        setAttribute(this.toggle, "aria-pressed", String(isShown));
        if (!isShown) {
            this.marks.clear();
        }
    }
}

export const truth: LayerKind = {
    id: "truth",
    types: [],
    sides: ["belief", "truth"],
    make: (context) => new TruthLayer(context),
};
