/** All kinds of panels, in the order in which they are laid out. A new panel is one file and one row here. */

import { alarms } from "./alarms.js";
import { camera } from "./camera.js";
import { devices } from "./devices.js";
import { experiment } from "./experiment.js";
import { frame } from "./frame.js";
import { inspector } from "./inspector.js";
import { journal } from "./journal.js";
import { link } from "./link.js";
import { map, truthMap } from "./map.js";
import { metrics } from "./metrics.js";
import { mission } from "./mission.js";
import type { PanelKind } from "./panel.js";
import { raw } from "./raw.js";
import { scene } from "./scene.js";
import { simulation } from "./simulation.js";
import { sounding } from "./sounding.js";
import { spectrum } from "./spectrum.js";
import { teleop } from "./teleop.js";
import { truth } from "./truth.js";
import { vitals } from "./vitals.js";
import { votes } from "./votes.js";
import { waterfall } from "./waterfall.js";

export const KINDS: readonly PanelKind[] = [
    map,
    truthMap,
    vitals,
    mission,
    teleop,
    alarms,
    simulation,
    truth,
    metrics,
    journal,
    link,
    waterfall,
    spectrum,
    camera,
    votes,
    sounding,
    devices,
    experiment,
    frame,
    scene,
    inspector,
    raw,
];
