/** The plan that the vehicle follows. */

import { Style } from "ol/style";
import { Plan } from "../generated/bowline/plan_t.js";
import { stroke } from "./drawing.js";
import type { LayerKind } from "./layer.js";
import { lineLayer } from "./line.js";

export const plan: LayerKind = lineLayer({
    id: "plan",
    type: Plan,
    channel: (view) => view.find(Plan, "plan"),
    of: (it) => it.as(Plan),
    points: (it) => it.as(Plan)?.states.map((state) => [state[0] ?? 0, state[1] ?? 0]),
    style: () => new Style({ stroke: stroke("--plan", 2.25, [8, 5]) }),
});
