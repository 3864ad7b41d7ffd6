/** What the page wants of the station. */

import type { Wish } from "./frames.js";

/**
 * What to carry, how often, and how much of the past: pictures and maps are large, tokens must be fresh, and tracks and
 * curves do not begin with the page. The first row that matches counts.
 */
export const WISHES: readonly Wish[] = [
    { pattern: ".*", type: "bowline.gate_token_t", max_hz: 25 },
    // A task that the gate passed on confirms the one that was given: none may be overtaken.
    { pattern: ".*", type: "bowline.task_t", max_hz: 0 },
    { pattern: ".*", type: "bowline.map_t", max_hz: 1 },
    { pattern: ".*", type: "bowline.image_t", max_hz: 10 },
    { pattern: ".*", type: "bowline.range3d_t", max_hz: 10 },
    { pattern: ".*", type: "bowline.multibeam_t", max_hz: 30, past: 100 },
    { pattern: ".*", type: "bowline.pose_transform_t", max_hz: 30, past: 1_000 },
    { pattern: ".*", type: "bowline.sounding_t", max_hz: 10, past: 500 },
    { pattern: ".*", type: "bowline.spectrum_t", max_hz: 10, past: 500 },
    { pattern: ".*", type: "bowline.refusal_t", max_hz: 0, past: 50 },
    { pattern: ".*", type: "bowline.alarm_t", max_hz: 0, past: 50 },
    { pattern: ".*", type: "bowline.audit_t", max_hz: 0, past: 50 },
    // On one channel many speak: the newest is not the only one that counts.
    { pattern: ".*", type: "bowline.experiment_t", max_hz: 0 },
    { pattern: ".*", type: "bowline.heartbeat_t", max_hz: 0 },
    { pattern: ".*", type: "bowline.lease_request_t", max_hz: 0 },
    { pattern: ".*", type: "bowline.stop_command_t", max_hz: 0, past: 20 },
    { pattern: ".*", type: "bowline.task_command_t", max_hz: 0, past: 50 },
    { pattern: ".*", max_hz: 10 },
];
