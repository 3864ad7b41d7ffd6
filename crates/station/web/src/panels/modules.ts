/**
 * Loads the modules that the station serves beside the page, each once.
 *
 * The page asks for messages when they are there, so that what they want of the past comes with the rest; it does not wait
 * for long, and a module that comes later gets what is new from then on.
 */

import type { Hello } from "../protocol/frames.js";
import { additionOf, failedPanel } from "./module.js";
import type { Registry } from "./registry.js";

/** How long the first messages wait for modules. */
const WAIT_MS = 1_000;
/** What has not come by then does not come any more. */
const LOAD_WITHIN_MS = 20_000;

/** Fetches a module: `import`, but for tests. */
type Fetch = (address: string) => Promise<{ readonly default?: unknown }>;

const fetchModule: Fetch = (address) => import(/* @vite-ignore */ new URL(address, document.baseURI).href);

export class Modules {
    private readonly known = new Set<string>();

    /** `onLate` receives panels and layers that came after the page had asked for messages. */
    constructor(
        private readonly registry: Registry,
        private readonly onFault: (error: unknown) => void,
        private readonly onLate: () => void,
        private readonly fetch: Fetch = fetchModule,
    ) {}

    /** Loads what the station has now and the page has not: until it is there, or for a moment. Undefined: nothing. */
    prepare({ panels }: Hello): Promise<void> | undefined {
        const missing = panels.filter((it) => !this.known.has(it));
        if (missing.length === 0) {
            return undefined;
        }
        missing.forEach((it) => this.known.add(it));
        let isWaiting = true;
        const all = Promise.all(missing.map((it) => this.load(it))).then(() => {
            // Once for all of them: the station sends everything again.
            if (!isWaiting) {
                this.onLate();
            }
        });
        const waited = new Promise<void>((resolve) => setTimeout(resolve, WAIT_MS));
        return Promise.race([all, waited]).then(() => void (isWaiting = false));
    }

    private async load(address: string): Promise<void> {
        const file = address.split("/").at(-1) ?? address;
        try {
            const module = await Promise.race([this.fetch(address), refusal(LOAD_WITHIN_MS)]);
            this.registry.add(additionOf(file, module.default));
        } catch (error) {
            const why = new Error(`cannot load ${file}: ${error instanceof Error ? error.message : String(error)}`);
            this.onFault(why);
            this.registry.add({ panels: [failedPanel(file, why)], layers: [] });
        }
    }
}

function refusal(ms: number): Promise<never> {
    return new Promise((_, reject) =>
        setTimeout(() => reject(new Error(`it did not come within ${ms / 1_000} s`)), ms),
    );
}
