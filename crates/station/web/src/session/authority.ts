/** What a station puts into each command: its name, its session, the epoch of the lease, a number, and a token. */

import { Authority } from "../generated/bowline/authority_t.js";
import type { Gate } from "../generated/bowline/gate_t.js";
import type { GateToken } from "../generated/bowline/gate_token_t.js";
import type { Refusal } from "../generated/bowline/refusal_t.js";

/** Who commands. */
export interface Identity {
    readonly station: string;
    readonly session: bigint;
    readonly rank: number;
}

/**
 * A message of the gate that is older than the last by no more than this was overtaken on the way; one that is older by more
 * comes from a gate whose clock was set back.
 */
const MAX_LATE_US = 5_000_000n;
/** Tokens that are kept, so that one can be found that is no newer than a state: a second and a half of them. */
const MAX_TOKENS = 32;

function isOvertaken(utime: bigint, last: bigint): boolean {
    return utime < last && last - utime <= MAX_LATE_US;
}

/** A new session's number: any positive one that no other session has. */
export function drawSession(): bigint {
    const [number = 0n] = crypto.getRandomValues(new BigInt64Array(1));
    const positive = number & 0x7fff_ffff_ffff_ffffn;
    return positive === 0n ? 1n : positive;
}

/** Knows the gate's tokens and who holds the lease, and gives each command its authority. */
export class AuthorityMaker {
    private number = 0n;
    private tokens: GateToken[] = [];
    private stateUtime: bigint | undefined;
    private holder: { readonly utime: bigint; readonly session: bigint; readonly epoch: bigint } | undefined;

    constructor(readonly identity: Identity) {}

    /** Takes a token of the gate; false if a newer one overtook it. */
    receiveToken(token: GateToken): boolean {
        const last = this.tokens.at(-1);
        if (last !== undefined && isOvertaken(token.utime, last.utime)) {
            return false;
        }
        if (last !== undefined && token.utime < last.utime) {
            this.tokens = [];
        }
        if (this.tokens.length >= MAX_TOKENS) {
            this.tokens.shift();
        }
        this.tokens.push(token);
        this.noteHolder(token);
        return true;
    }

    /** Takes a state of the gate; false if a newer one overtook it. */
    receiveState(gate: Gate): boolean {
        if (this.stateUtime !== undefined && isOvertaken(gate.utime, this.stateUtime)) {
            return false;
        }
        this.stateUtime = gate.utime;
        this.noteHolder(gate);
        return true;
    }

    get hasToken(): boolean {
        return this.tokens.length > 0;
    }

    /** The number of the last command. */
    get sequence(): bigint {
        return this.number;
    }

    isHolder(): boolean {
        return this.holder !== undefined && this.holder.session === this.identity.session;
    }

    isHeldByAnother(): boolean {
        return this.holder !== undefined && this.holder.session !== 0n && !this.isHolder();
    }

    isMine({ by }: Refusal): boolean {
        return by.session === this.identity.session && by.station === this.identity.station;
    }

    /** For the next command. Numbers follow the clock where they can. */
    next(utime: number): Authority {
        const atLeast = BigInt(utime);
        this.number = this.number + 1n > atLeast ? this.number + 1n : atLeast;
        const { station, session } = this.identity;
        const epoch = this.isHolder() ? (this.holder?.epoch ?? 0n) : 0n;
        return new Authority({
            station,
            session,
            epoch,
            sequence: this.number,
            token: this.tokens.at(-1)?.token ?? 0n,
        });
    }

    /**
     * The same with a token that is no newer than the newest state: then the gate refuses the command if the vehicle was
     * stopped again after that state. Undefined while there is no such token.
     */
    nextSeen(utime: number): Authority | undefined {
        const { stateUtime } = this;
        const seen = stateUtime === undefined ? undefined : this.tokens.findLast((it) => it.utime <= stateUtime);
        if (seen === undefined) {
            return undefined;
        }
        const by = this.next(utime);
        by.token = seen.token;
        return by;
    }

    /** Tokens and states both name the holder; the newer of them by the vehicle's clock counts. */
    private noteHolder({ utime, session, epoch }: Gate | GateToken): void {
        if (this.holder === undefined || !isOvertaken(utime, this.holder.utime)) {
            this.holder = { utime, session, epoch };
        }
    }
}
