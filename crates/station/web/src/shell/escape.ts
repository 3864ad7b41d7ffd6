/**
 * What Esc closes before it stops anything: menus and sketches, the one that was opened last first.
 *
 * An element that is hidden, or no longer on the page, keeps no stop from the vehicle. A dialog of the browser's own closes
 * itself, and is no part of this.
 */

interface Open {
    readonly element: HTMLElement;
    readonly close: () => void;
}

let opened: Open[] = [];
let isListening = false;

/** Has Esc close this while its element is shown. */
export function closeOnEscape(element: HTMLElement, close: () => void): void {
    if (!isListening) {
        isListening = true;
        // Before all others: what the key was for is marked by preventing what the browser would do.
        window.addEventListener("keydown", closeLast, { capture: true });
    }
    opened = opened.filter((it) => it.element !== element);
    opened.push({ element, close });
}

function closeLast(event: KeyboardEvent): void {
    opened = opened.filter(({ element }) => element.isConnected && element.closest("[hidden]") === null);
    const last = opened.at(-1);
    if (event.key === "Escape" && !event.shiftKey && !event.defaultPrevented && last !== undefined) {
        event.preventDefault();
        last.close();
    }
}
