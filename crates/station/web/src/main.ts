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
import { PlayerBar } from "./shell/player.js";
import { StopButton } from "./shell/stop.js";
import { applyTheme } from "./shell/theme.js";
import { PAGES, TopBar } from "./shell/topbar.js";
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
    private readonly layout = new Layout({ store: this.store, commander: this.commander, controls: this.controls });
    private view: VehicleView | undefined;
    private arranged = { revision: -1, page: "" as PageId | "", prefix: "" };
    private textMs = 0;
    page: PageId = PAGES.find(([id]) => `#${id}` === window.location.hash)?.[0] ?? "operate";
    prefix = "";
    private readonly parts: readonly { render(picture: Picture): void }[];

    constructor() {
        applyTheme();
        const view = (): VehicleView | undefined => this.view;
        const top = new TopBar(this.store, this);
        const authority = new AuthorityBar(this.commander, view);
        const stop = new StopButton(this.store, this.commander, view);
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
            const found = PAGES.find(([id]) => `#${id}` === window.location.hash);
            this.page = found?.[0] ?? this.page;
        });
        const draw = (nowMs: number): void => {
            this.draw(nowMs);
            window.requestAnimationFrame(draw);
        };
        window.requestAnimationFrame(draw);
    }

    choosePage(page: PageId): void {
        this.page = page;
        window.history.replaceState(null, "", `#${page}`);
    }

    chooseVehicle(prefix: string): void {
        this.prefix = prefix;
    }

    private tick(): void {
        const isVisible = document.visibilityState === "visible";
        this.connection.tick(performance.now());
        this.commander.tick(this.view?.vehicle, this.controls.hands(), isVisible);
    }

    private draw(frameMs: number): void {
        // The time of the picture may be before that of a message that came since.
        const nowMs = Math.max(frameMs, performance.now());
        this.arrange();
        const isForText = nowMs - this.textMs >= TEXT_EVERY_MS;
        if (isForText) {
            this.textMs = nowMs;
        }
        const picture = { nowMs, utime: this.store.now(nowMs), isForText };
        for (const part of this.parts) {
            part.render(picture);
        }
    }

    private arrange(): void {
        const { revision, vehicles } = this.store;
        const vehicle = vehicles.find((it) => it.prefix === this.prefix) ?? vehicles[0];
        this.prefix = vehicle?.prefix ?? this.prefix;
        const { arranged } = this;
        if (arranged.revision === revision && arranged.page === this.page && arranged.prefix === this.prefix) {
            return;
        }
        this.arranged = { revision, page: this.page, prefix: this.prefix };
        if (vehicle?.prefix !== this.view?.vehicle.prefix || vehicle?.name !== this.view?.vehicle.name) {
            this.view = vehicle && new VehicleView(this.store, vehicle);
        }
        this.layout.arrange(this.page, this.view);
    }
}

new App().start();
