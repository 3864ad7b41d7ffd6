/**
 * Where sensors are on a vehicle, by the station's model. Each is asked for once in a while until it is known.
 */

import { Matrix4 } from "three";
import type { Commander } from "../app/commander.js";

const ASK_EVERY_MS = 5_000;

export class Mounts {
    private readonly known = new Map<string, Matrix4>();
    private readonly askedMs = new Map<string, number>();

    constructor(
        private readonly commander: Commander,
        private readonly vehicle: string,
    ) {}

    /** Takes points of a sensor's frame to the frame that the pose is of; undefined while that is unknown. */
    poseFromSensor(sensor: string, poseFrame: string, nowMs: number): Matrix4 | undefined {
        const key = `${poseFrame} ${sensor}`;
        if (sensor === poseFrame) {
            return new Matrix4();
        }
        const found = this.known.get(key);
        if (found === undefined && nowMs - (this.askedMs.get(key) ?? Number.NEGATIVE_INFINITY) > ASK_EVERY_MS) {
            this.askedMs.set(key, nowMs);
            void this.ask(key, sensor, poseFrame);
        }
        return found;
    }

    private async ask(key: string, frame: string, reference: string): Promise<void> {
        const reply = await this.commander.ask({ what: "transform", frame, reference, vehicle: this.vehicle });
        const matrix = (reply.result as { matrix?: unknown } | undefined)?.matrix;
        if (reply.ok && Array.isArray(matrix) && matrix.length === 16 && matrix.every(Number.isFinite)) {
            this.known.set(key, new Matrix4().fromArray(matrix as number[]).transpose());
        }
    }
}
