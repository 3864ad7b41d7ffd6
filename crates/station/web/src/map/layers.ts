/** All layers of the map, in the order of their tools. A new layer is one file and one row here. */

import { chart } from "./chart.js";
import { goals } from "./goals.js";
import { ground } from "./ground.js";
import { lanes } from "./lanes.js";
import type { LayerKind } from "./layer.js";
import { leg } from "./leg.js";
import { plan } from "./plan.js";
import { truth } from "./truth.js";
import { vehicles } from "./vehicles.js";

export const LAYERS: readonly LayerKind[] = [chart, truth, ground, lanes, leg, plan, goals, vehicles];
