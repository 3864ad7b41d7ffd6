/**
 * Keeps one fault from stopping everything else: what a part throws is remembered, and the others go on.
 */
export class Guard {
    private readonly failing = new Map<string, string>();

    /** `onFault` receives each fault once, not with each picture. */
    constructor(private readonly onFault: (error: unknown) => void) {}

    run(part: string, act: () => void): void {
        try {
            act();
            this.failing.delete(part);
        } catch (error) {
            const text = `${part}: ${error instanceof Error ? error.message : String(error)}`;
            if (this.failing.get(part) !== text) {
                this.failing.set(part, text);
                this.onFault(error);
            }
        }
    }

    /** What fails now, for people; empty: nothing. */
    get text(): string {
        return [...this.failing.values()].join("; ");
    }
}
