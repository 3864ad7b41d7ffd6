// Waiting with an end: what a scenario waits for comes within a bound, or the scenario names what did not come.

/** Longer than anything takes here, on a machine that does other things too. */
export const PATIENCE_MS = 20_000;

/** A promise that is broken when it is not kept in time. */
export async function within(promise, what, ms = PATIENCE_MS) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`expected ${what} within ${ms / 1e3} s, found nothing`)), ms);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}
