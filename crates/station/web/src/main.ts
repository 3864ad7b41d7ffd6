/**
 * The operator's page of `bowline station`.
 *
 * Data flows one way: socket, decoder, store, panels; once for each picture the panels of the page in front are drawn. What
 * a person does flows the other way: panel, commander, session, socket. No panel touches the socket.
 */

import "@fontsource/b612/latin-400.css";
import "@fontsource/b612/latin-700.css";
import "ol/ol.css";
import "./style/theme.css";
import "./style/page.css";
import "./style/panels.css";
import { Commander } from "./app/commander.js";
import { Connection } from "./app/connection.js";
import { Controls } from "./input/hands.js";
import type { PageId, Picture } from "./panels/panel.js";
import { AuthorityBar } from "./shell/authority.js";
import { Banners } from "./shell/banners.js";
import { el } from "./shell/dom.js";
import { Layout } from "./shell/layout.js";
import { Login } from "./shell/login.js";
import { Pace } from "./shell/pace.js";
import { type Place, readPlace, writePlace } from "./shell/place.js";
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

class App {
    readonly store = new Store();
    private readonly login = new Login(() => this.connection.open());
    private readonly connection = new Connection(this.store, () => this.login.open());
    private readonly commander = new Commander(this.store, this.connection);
    private readonly controls = new Controls();
    private readonly layout = new Layout({
        store: this.store,
        commander: this.commander,
        controls: this.controls,
        chooseMonitor: (name) => this.chooseMonitor(name),
    });
    /** The whole vehicle in front: what is always in sight is bound to this, whatever the layout is bound to. */
    private view: VehicleView | undefined;
    /** What the layout is bound to. */
    private bound: VehicleView | undefined;
    private arranged = { revision: -1, place: "" };
    private textMs = 0;
    private readonly pace = new Pace();
    private place = readPlace(window.location.hash, { page: "operate", vehicle: "", monitor: "" });
    monitors: readonly string[] = [];
    private readonly stop: StopButton;
    private readonly parts: readonly { render(picture: Picture): void }[];

    constructor() {
        applyTheme();
        const view = (): VehicleView | undefined => this.view;
        const top = new TopBar(this.store, this);
        const authority = new AuthorityBar(this.commander, view);
        const stop = new StopButton(this.store, this.commander, view);
        this.stop = stop;
        const banners = new Banners(this.store);
        const player = new PlayerBar(this.store, this.commander);
        this.parts = [top, authority, stop, banners, player, this.layout];
        document.body.append(
            el("a", { class: "sr skip", href: "#page" }, "Skip to the page"),
            top.element,
            el(
                "div",
                { class: "head" },
                el("div", { class: "command" }, authority.element, stop.element, stop.announced),
                banners.element,
            ),
            this.layout.element,
            player.element,
            this.login.element,
        );
    }

    start(): void {
        this.connection.open();
        window.setInterval(() => this.tick(), TICK_EVERY_MS);
        window.matchMedia("(prefers-color-scheme: light)").addEventListener("change", applyTheme);
        window.addEventListener("hashchange", () => {
            this.place = readPlace(window.location.hash, this.place);
        });
        const draw = (nowMs: number): void => {
            if (this.pace.isDue(nowMs)) {
                this.draw(nowMs);
            }
            window.requestAnimationFrame(draw);
        };
        window.requestAnimationFrame(draw);
    }

    get page(): PageId {
        return this.place.page;
    }

    get prefix(): string {
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

    private go(change: Partial<Place>): void {
        this.place = { ...this.place, ...change };
        window.history.replaceState(null, "", writePlace(this.place));
    }

    private tick(): void {
        const isVisible = document.visibilityState === "visible";
        this.connection.tick(performance.now());
        if (this.controls.hasPressedStop()) {
            this.stop.press("gamepad");
        }
        this.commander.tick(this.view?.vehicle, this.controls.hands(), isVisible);
    }

    private draw(frameMs: number): void {
        // The time of the picture may be before that of a message that came since.
        const nowMs = Math.max(frameMs, performance.now());
        this.arrange();
        const isForText = nowMs - this.textMs >= TEXT_EVERY_MS;
        if (isForText) {
            this.textMs = nowMs;
            noteSilence(this.store, nowMs);
        }
        const picture = { nowMs, utime: this.store.now(nowMs), isForText };
        for (const part of this.parts) {
            part.render(picture);
        }
    }

    private arrange(): void {
        const { revision, vehicles } = this.store;
        const place = writePlace(this.place);
        if (this.arranged.revision === revision && this.arranged.place === place) {
            return;
        }
        this.arranged = { revision, place };
        const vehicle = vehicles.find((it) => it.prefix === this.place.vehicle) ?? vehicles[0];
        if (vehicle?.prefix !== this.view?.vehicle.prefix || vehicle?.name !== this.view?.vehicle.name) {
            this.view = vehicle && new VehicleView(this.store, vehicle);
        }
        this.bind();
        this.layout.arrange(this.page, this.bound);
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

new App().start();
