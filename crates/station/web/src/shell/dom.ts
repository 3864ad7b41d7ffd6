/** Small tools for elements of the page. Text is only ever set as text, never as markup: it comes from outside. */

type Child = Node | string;

interface Attributes {
    readonly [name: string]: string | number | boolean | ((event: never) => void) | undefined;
}

/** An element with attributes, listeners (`onclick`) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") {
            element.addEventListener(name.slice(2), value as EventListener);
        } else if (value === true) {
            element.setAttribute(name, "");
        } else if (value !== undefined && value !== false) {
            element.setAttribute(name, String(value));
        }
    }
    element.append(...children);
    return element;
}

/** Sets a text, if it is not that already: layout is only done again where something changed. */
export function setText(element: Element, text: string): void {
    if (element.textContent !== text) {
        element.textContent = text;
    }
}

/** Sets an attribute, if it is not that already; undefined takes it away. */
export function setAttribute(element: Element, name: string, value: string | undefined): void {
    if (value === undefined) {
        element.removeAttribute(name);
    } else if (element.getAttribute(name) !== value) {
        element.setAttribute(name, value);
    }
}

/** Shows or hides an element. */
export function setShown(element: HTMLElement, isShown: boolean): void {
    if (element.hidden === isShown) {
        element.hidden = !isShown;
    }
}

/** Enables or disables a control. */
export function setEnabled(
    control: HTMLButtonElement | HTMLInputElement | HTMLSelectElement,
    isEnabled: boolean,
): void {
    if (control.disabled === isEnabled) {
        control.disabled = !isEnabled;
    }
}

/** A button. */
export function button(label: string, onclick: () => void, attributes: Attributes = {}): HTMLButtonElement {
    return el("button", { type: "button", onclick, ...attributes }, label);
}

/** A canvas that is as large as its box, sharp on every screen; `fit` returns whether it has changed. */
export class FittedCanvas {
    readonly element: HTMLCanvasElement;
    readonly context: CanvasRenderingContext2D;
    width = 0;
    height = 0;
    private box = { width: 0, height: 0 };
    private readonly observer: ResizeObserver;

    constructor(label: string, className = "") {
        this.element = el("canvas", { role: "img", "aria-label": label, class: `fitted ${className}` });
        const context = this.element.getContext("2d");
        if (context === null) {
            throw new Error("expected a browser that draws on a canvas");
        }
        this.context = context;
        this.observer = new ResizeObserver(([entry]) => {
            if (entry !== undefined) {
                this.box = entry.contentRect;
            }
        });
        this.observer.observe(this.element);
    }

    /** Makes it as large as its box; true if it was not, and is empty now. */
    fit(): boolean {
        const ratio = window.devicePixelRatio || 1;
        const [width, height] = [Math.round(this.box.width * ratio), Math.round(this.box.height * ratio)];
        if (width === this.element.width && height === this.element.height) {
            return false;
        }
        this.element.width = width;
        this.element.height = height;
        this.width = this.box.width;
        this.height = this.box.height;
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        return true;
    }

    destroy(): void {
        this.observer.disconnect();
    }
}

/** How much larger than on a laptop things are on this screen: drawings must grow with the text. */
export function screenScale(): number {
    return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 13 || 1;
}
