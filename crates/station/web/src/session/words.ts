/** What people call tasks, by their kind in task_t. */
export const TASK_KINDS = ["hold", "stay", "route", "survey", "heading and speed", "return", "resume"];

/** What a command does, for the running log. */
export function describe(name: string, message: object, asking: string): string {
    const station = asking || "the station that asks";
    switch (name) {
        case "take":
            return "asks for the lease";
        case "preempt":
            return "takes the lease by rank";
        case "release":
            return "gives the lease up";
        case "consent":
            return `hands over to ${station}`;
        case "deny":
            return `keeps the lease from ${station}`;
        case "stop":
            return "reason" in message ? `stop: ${String(message.reason)}` : "stop";
        case "clear":
            return "lets the stop be over";
        default:
            return name;
    }
}
