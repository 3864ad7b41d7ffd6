/** Logging in: a name and a password, once; the station answers with a cookie that no script can read. */

import { el, setText } from "./dom.js";

export class Login {
    readonly element: HTMLDialogElement;
    private readonly name = el("input", { type: "text", autocomplete: "username", required: true });
    private readonly password = el("input", { type: "password", autocomplete: "current-password", required: true });
    private readonly error = el("p", { class: "refused", role: "alert" });
    private isWanted = false;

    /** `onDone` is called when the station has let the person in. */
    constructor(private readonly onDone: () => void) {
        const form = el(
            "form",
            { method: "dialog" },
            el("h2", {}, "Log in to the station"),
            el("label", {}, "Name", this.name),
            el("label", {}, "Password", this.password),
            this.error,
            el("button", { type: "submit", class: "primary" }, "Log in"),
        );
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            void this.submit();
        });
        this.element = el("dialog", { class: "login", "aria-label": "Log in" }, form);
        // Without it there is nothing to see behind it: Esc does not close it, nor does a browser that insists.
        this.element.addEventListener("cancel", (event) => event.preventDefault());
        this.element.addEventListener("close", () => this.isWanted && this.open());
    }

    open(): void {
        this.isWanted = true;
        if (!this.element.open) {
            this.element.showModal();
            this.name.focus();
        }
    }

    private async submit(): Promise<void> {
        setText(this.error, "");
        try {
            const response = await fetch("login", {
                method: "POST",
                headers: { "content-type": "application/json" },
                body: JSON.stringify({ user: this.name.value, password: this.password.value }),
            });
            this.password.value = "";
            if (response.ok) {
                this.isWanted = false;
                this.element.close();
                this.onDone();
            } else {
                setText(
                    this.error,
                    response.status === 429
                        ? "Too many attempts. Wait a moment."
                        : "The station does not know this name with this password.",
                );
            }
        } catch {
            setText(this.error, "The station is not there.");
        }
    }
}

/** Ends the log-in; false if the station could not be reached. */
export async function logOut(): Promise<boolean> {
    try {
        return (await fetch("logout", { method: "POST" })).ok;
    } catch {
        return false;
    }
}
