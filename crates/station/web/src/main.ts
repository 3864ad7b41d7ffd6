/**
 * The operator's page of `bowline station`.
 *
 * Data flows one way: socket, decoder, store, panels; once for each picture the panels of the page in front are drawn. What
 * a person does flows the other way: panel, commander, session, socket. No panel touches the socket.
 */

import { Commander } from "./app/commander.js";
import { Connection } from "./app/connection.js";
import type { Line } from "./app/line.js";
import { Controls } from "./input/hands.js";
import { Modules } from "./panels/modules.js";
import type { PageId, Picture } from "./panels/panel.js";
import { Registry } from "./panels/registry.js";
import { AuthorityBar } from "./shell/authority.js";
import { Banners } from "./shell/banners.js";
import { el } from "./shell/dom.js";
import { Guard } from "./shell/guard.js";
import { Layout } from "./shell/layout.js";
import { Login, logOut } from "./shell/login.js";
import { Pace } from "./shell/pace.js";
import { frontOf, type Place, readPlace, writePlace } from "./shell/place.js";
import { PlayerBar } from "./shell/player.js";
import { StopButton } from "./shell/stop.js";
import { applyTheme } from "./shell/theme.js";
import { TopBar } from "./shell/topbar.js";
import { noteSilence } from "./store/silence.js";
import type { Monitor } from "./store/experiments.js";
import { Store, VehicleView } from "./store/store.js";

/** Commands go out at 30 Hz; the timer is finer, and each sender keeps its own rate. */
const TICK_EVERY_MS = 10;
const TEXT_EVERY_MS = 100;
/** A page in sight that draws nothing for so long lies. */
const FROZEN_AFTER_MS = 1_000;
/** A vehicle that the page is for and that sends nothing for so long is shown as absent: the first view takes a moment. */
const ABSENT_AFTER_MS = 1_000;

class App {
    private readonly registry = new Registry();
    readonly store = new Store(this.registry);
    private readonly login = new Login(() => this.connection.open());
    private readonly modules = new Modules(
        this.registry,
        (error) => this.store.fault(error),
        () => this.connection.renew(),
    );
    private readonly connection: Connection = new Connection(
        this.store,
        { prepare: (hello) => this.modules.prepare(hello), wishes: () => this.registry.wishes },
        () => this.login.open(),
    );
    private readonly commander = new Commander(this.store, this.connection);
    private readonly controls = new Controls();
    private readonly layout = new Layout(
        {
            store: this.store,
            commander: this.commander,
            controls: this.controls,
            chooseMonitor: (name) => this.chooseMonitor(name),
        },
        this.registry,
    );
    /** The whole vehicle in front: what is always in sight is bound to this, whatever the layout is bound to. */
    private view: VehicleView | undefined;
    /** What the layout is bound to. */
    private bound: VehicleView | undefined;
    private arranged = { revision: -1, place: "" };
    private textMs = Number.NEGATIVE_INFINITY;
    private drawnMs = performance.now();
    /** When the vehicle that the page is for was last there, or could not be known. */
    private presentMs = performance.now();
    private readonly pace = new Pace();
    private readonly guard = new Guard((error) => this.store.fault(error));
    private place = readPlace(window.location.hash, { page: "operate", vehicle: undefined, monitor: "" });
    monitors: readonly string[] = [];
    private readonly stop: StopButton;
    private readonly banners = new Banners(this.store, () => this.absent());
    private readonly parts: Readonly<Record<string, { render(picture: Picture): void }>>;

    constructor() {
        applyTheme();
        const view = (): VehicleView | undefined => this.view;
        const top = new TopBar(this.store, this);
        const authority = new AuthorityBar(this.store, this.commander, view);
        const stop = new StopButton(this.store, this.commander, view);
        this.stop = stop;
        const { banners, layout } = this;
        const player = new PlayerBar(this.store, this.commander);
        this.parts = { top, authority, stop, banners, player, layout };
        document.body.append(
            el("a", { class: "sr skip", href: "#page" }, "Skip to the page"),
            top.element,
            el(
                "div",
                { class: "head" },
                el("div", { class: "command" }, authority.element, stop.element, stop.announced),
                banners.element,
            ),
            layout.element,
            player.element,
            this.login.element,
        );
    }

    start(line: Line): void {
        this.connection.open(line);
        window.setInterval(() => this.tick(), TICK_EVERY_MS);
        window.matchMedia("(prefers-color-scheme: light)").addEventListener("change", applyTheme);
        window.addEventListener("hashchange", () => {
            this.place = readPlace(window.location.hash, this.place);
        });
        // Out of sight nothing is drawn, and nothing can be expected to have been.
        document.addEventListener("visibilitychange", () => (this.drawnMs = performance.now()));
        const draw = (nowMs: number): void => {
            // The next one first: whatever happens in this one, there is a next.
            window.requestAnimationFrame(draw);
            if (this.pace.isDue(nowMs)) {
                this.draw(nowMs);
            }
        };
        window.requestAnimationFrame(draw);
    }

    get page(): PageId {
        return this.place.page;
    }

    get prefix(): string | undefined {
        return this.view?.vehicle.prefix ?? this.place.vehicle;
    }

    get monitor(): string {
        return this.place.monitor;
    }

    choosePage(page: PageId): void {
        this.go({ page });
    }

    chooseVehicle(prefix: string): void {
        this.go({ vehicle: prefix });
    }

    chooseMonitor(name: string): void {
        this.go({ monitor: name });
    }

    logOut(): void {
        this.commander.releaseAll();
        void logOut().then((isOut) => isOut && window.location.reload());
    }

    private go(change: Partial<Place>): void {
        this.place = { ...this.place, ...change };
        window.history.replaceState(null, "", writePlace(this.place));
    }

    private tick(): void {
        const nowMs = performance.now();
        const { guard, controls } = this;
        guard.run("connection", () => this.connection.tick(nowMs));
        guard.run("gamepad", () => controls.hasPressedStop() && this.stop.press("gamepad"));
        const away = controls.away();
        const isFrozen = document.visibilityState === "visible" && nowMs - this.drawnMs > FROZEN_AFTER_MS;
        if (isFrozen) {
            this.banners.showFrozen(nowMs - this.drawnMs, nowMs);
        }
        guard.run("commands", () =>
            this.commander.tick(this.view?.vehicle, controls.hands(), isFrozen ? "the page does not draw" : away),
        );
    }

    private draw(frameMs: number): void {
        // The time of the picture may be before that of a message that came since.
        const nowMs = Math.max(frameMs, performance.now());
        this.guard.run("arrangement", () => this.arrange());
        const isForText = nowMs - this.textMs >= TEXT_EVERY_MS;
        if (isForText) {
            this.textMs = nowMs;
            this.guard.run("silence", () => noteSilence(this.store, nowMs));
            this.presentMs = this.view !== undefined || this.store.status === undefined ? nowMs : this.presentMs;
        }
        const picture = { nowMs, utime: this.store.now(nowMs), isForText };
        for (const [name, part] of Object.entries(this.parts)) {
            this.guard.run(name, () => part.render(picture));
        }
        if (isForText) {
            this.banners.showFailing(this.guard.text);
        }
        this.drawnMs = nowMs;
    }

    /** The name of the vehicle that the page is for, if it sends nothing; empty if it does, or there is none. */
    private absent(): string {
        const { vehicle } = this.place;
        const isAbsent = this.textMs - this.presentMs > ABSENT_AFTER_MS && vehicle !== undefined;
        return isAbsent ? vehicle.slice(0, -1) || "without a name" : "";
    }

    private arrange(): void {
        const { vehicles } = this.store;
        const revision = this.store.revision + this.registry.revision;
        const place = writePlace(this.place);
        if (this.arranged.revision === revision && this.arranged.place === place) {
            return;
        }
        this.arranged = { revision, place };
        const vehicle = frontOf(this.place, vehicles);
        if (vehicle?.hasGate && this.place.vehicle === undefined) {
            // From now on it is this one: no other ever comes to the front by itself, and is stopped in its place.
            this.go({ vehicle: vehicle.prefix });
        }
        if (vehicle?.prefix !== this.view?.vehicle.prefix || vehicle?.name !== this.view?.vehicle.name) {
            this.view = vehicle && new VehicleView(this.store, vehicle);
        }
        this.bind();
        this.layout.arrange(this.page, this.bound);
        // What is new on the page has its texts with this picture.
        this.textMs = Number.NEGATIVE_INFINITY;
    }

    /** Binds the layout to the experiment that was chosen, where this vehicle has it too; else to the whole vehicle. */
    private bind(): void {
        const { view } = this;
        const monitors = view?.monitors() ?? [];
        this.monitors = monitors.map((it) => it.name);
        const monitor = monitors.find((it) => it.name === this.monitor);
        if (view === undefined || monitor === undefined) {
            this.bound = view;
        } else if (this.bound?.vehicle !== view.vehicle || !isSame(this.bound.monitor, monitor)) {
            this.bound = new VehicleView(this.store, view.vehicle, monitor);
        }
    }
}

function isSame(a: Monitor | undefined, b: Monitor): boolean {
    return (
        a?.name === b.name && a.channels.size === b.channels.size && [...b.channels].every((it) => a.channels.has(it))
    );
}

/** Begins, with the line that is open already. */
export function start(line: Line): void {
    new App().start(line);
}
