/**
 * The table of commands, as `bowline operate commands --json` prints it (`make gen`): what exists, who may send it, and what
 * it needs. Gate, list of alarms, link and station read the same rows.
 */

import rows from "./commands.json";

/** One command that stations can send to a vehicle. */
export interface CommandRow {
    /** In refusals, and in what people read. */
    readonly name: string;
    /** Without the prefix of the vehicle. */
    readonly channel: string;
    /** Full name of the type of its message. */
    readonly type: string;
    /** The value of the message's `ask` that makes it this command; null where the message has none. */
    readonly ask: number | null;
    /** What it takes part in: `stop`, `authority`, `task`, `direct` or `notice`. */
    readonly effect: string;
    /** What it must bring: `token`, `lease`, `rank`. */
    readonly needs: readonly string[];
    /** The least role that may send it: `viewer` or `operator`. */
    readonly role: string;
    /** The channel on which the vehicle shows what has become of it, without the prefix of the vehicle. */
    readonly answered_on: string;
}

export const COMMANDS: readonly CommandRow[] = rows;

const BY_NAME = new Map(COMMANDS.map((it) => [it.name, it]));

/** The command of this name; undefined if there is none. */
export function commandNamed(name: string): CommandRow | undefined {
    return BY_NAME.get(name);
}

/** The command of this name, which the table has. */
export function rowOf(name: string): CommandRow {
    const row = commandNamed(name);
    if (row === undefined) {
        throw new Error(`no command is called ${name}`);
    }
    return row;
}

/** Whether a person in this role at a station may send it. */
export function mayBeSentBy(role: string, command: CommandRow): boolean {
    return command.role === "viewer" || role !== "viewer";
}
