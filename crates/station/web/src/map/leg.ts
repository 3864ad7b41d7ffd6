/** The leg that the helm follows now. */

import { Style } from "ol/style";
import { Guidance } from "../generated/bowline/guidance_t.js";
import type { Channel } from "../store/channel.js";
import { stroke } from "./drawing.js";
import type { LayerKind } from "./layer.js";
import { lineLayer } from "./line.js";

/** Both ends of the leg that is followed; undefined if none is. */
const ends = (channel: Channel): number[][] | undefined => {
    const guidance = channel.as(Guidance);
    return guidance?.kind === Guidance.LEG ? [[...guidance.from_m], [...guidance.to_m]] : undefined;
};

export const leg: LayerKind = lineLayer({
    id: "leg",
    type: Guidance,
    channel: (view) => view.find(Guidance, "helm.guidance"),
    // The same leg is sent again and again.
    of: (it) => ends(it)?.join(" "),
    points: ends,
    style: () => new Style({ stroke: stroke("--leg", 3) }),
});
