/** What voters think of each arc, and what the arbiter makes of it: the fan ahead of a ground vehicle. */

import type { Arc } from "../generated/bowline/arc_t.js";
import { Arbitration } from "../generated/bowline/arbitration_t.js";
import { Vote } from "../generated/bowline/vote_t.js";
import { COST, css } from "../map/palette.js";
import { el, FittedCanvas, setAttribute, setText } from "../shell/dom.js";
import { number } from "../shell/format.js";
import { shownTheme, themeColor } from "../shell/theme.js";
import type { Channel } from "../store/channel.js";
import { News } from "./news.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

const DRAW_EVERY_MS = 100;
/** How far arcs are drawn, metres. */
const REACH_M = 12;

class VotesPanel implements Panel {
    readonly body = el("div", { class: "votes" });
    private readonly fan = new FittedCanvas("Arcs that the vehicle may follow, coloured by what all votes come to");
    private readonly reason = el("p", { class: "headline" });
    private readonly table = el("table", { class: "voters" });
    private readonly fanNews = new News();
    private readonly voterNews = new News();
    private drawnMs = 0;

    constructor(private readonly context: Context) {
        this.body.append(this.reason, this.fan.element, this.table);
    }

    sources(): (Channel | undefined)[] {
        const { view } = this.context;
        return [view.find(Arbitration, "arbiter"), ...view.ofType(Vote)];
    }

    render({ nowMs, utime, isForText }: Picture): void {
        const hasFit = this.fan.fit();
        if (!hasFit && nowMs - this.drawnMs < DRAW_EVERY_MS) {
            return;
        }
        this.drawnMs = nowMs;
        const channel = this.context.view.find(Arbitration, "arbiter");
        const result = channel?.as(Arbitration);
        const isStale = channel?.freshness(utime) !== "fresh";
        if (result !== undefined && (this.fanNews.has(result, isStale, shownTheme()) || hasFit)) {
            this.drawFan(result, isStale);
        }
        if (isForText && result !== undefined) {
            const what = result.stopped
                ? "Stands still"
                : `${number(result.speed_mps, 2)} m/s, ${turn(result.curvature_per_m)}`;
            setText(this.reason, `${what}: ${result.reason}`);
            setAttribute(this.reason, "data-fresh", channel?.freshness(utime));
            this.renderVoters(result, utime);
        }
    }

    destroy(): void {
        this.fan.destroy();
    }

    private drawFan(result: Arbitration, isStale: boolean): void {
        const { context, width, height } = this.fan;
        context.clearRect(0, 0, width, height);
        const perM = Math.min((height - 16) / REACH_M, width / 2 / REACH_M) || 1;
        context.save();
        context.translate(width / 2, height - 8);
        context.globalAlpha = isStale ? 0.4 : 1;
        context.lineCap = "round";
        result.curvatures_per_m.forEach((curvature, i) => {
            const isVetoed = result.vetoed_by[i] !== "";
            const total = result.totals[i] ?? 0;
            context.strokeStyle = isVetoed ? themeColor("--veto") : css(COST, (1 - total) / 2);
            context.lineWidth = isVetoed ? 1 : 2.5;
            context.setLineDash(isVetoed ? [2, 4] : []);
            arc(context, curvature, REACH_M, perM);
        });
        if (!result.stopped) {
            context.setLineDash([]);
            context.lineWidth = 5;
            context.strokeStyle = themeColor("--accent");
            arc(context, result.curvature_per_m, REACH_M * 0.9, perM);
        }
        context.restore();
    }

    private renderVoters(result: Arbitration, utime: number | undefined): void {
        const votes = this.context.view.ofType(Vote);
        const voters = result.voters.map((name, i) => {
            const channel = votes.find((it) => it.as(Vote)?.voter === name);
            const fault = result.faults[i] ?? "";
            const freshness = fault !== "" ? "stale" : (channel?.freshness(utime) ?? "none");
            return { name, fault, freshness, vote: channel?.as(Vote) };
        });
        if (!this.voterNews.has(...voters.flatMap((it) => Object.values(it)))) {
            return;
        }
        const rows = voters.map(({ name, fault, freshness, vote }) =>
            el(
                "tr",
                { "data-fresh": freshness },
                el("th", { scope: "row" }, name),
                el(
                    "td",
                    { class: "strip" },
                    ...judged(vote, result).map((it) => cell(it.veto, it.vote, it.confidence)),
                ),
                el("td", {}, fault || (vote?.reason ?? "no vote")),
            ),
        );
        this.table.replaceChildren(el("caption", {}, "Votes by arc, from right to left"), el("tbody", {}, ...rows));
    }
}

/** The arcs of a vote that count: those for driving backward while the vehicle does, or where the vote has no others. */
function judged(vote: Vote | undefined, { speed_mps }: Arbitration): readonly Arc[] {
    if (vote === undefined) {
        return [];
    }
    return speed_mps < 0 || vote.arcs.length === 0 ? vote.backward : vote.arcs;
}

function cell(isVeto: boolean, vote: number, confidence: number): HTMLElement {
    const color = isVeto ? "var(--veto)" : css(COST, (1 - vote) / 2);
    return el("i", {
        style: `background: ${color}; opacity: ${isVeto ? 1 : 0.25 + 0.75 * Math.max(0, Math.min(1, confidence))}`,
    });
}

function turn(curvature: number): string {
    return Math.abs(curvature) < 1e-3
        ? "straight on"
        : `radius ${number(1 / Math.abs(curvature))} m to the ${curvature > 0 ? "left" : "right"}`;
}

/** An arc from where the vehicle is, ahead being up. */
function arc(context: CanvasRenderingContext2D, curvature: number, lengthM: number, perM: number): void {
    context.beginPath();
    context.moveTo(0, 0);
    const n = 16;
    // A quarter of a turn is enough: whole circles would hide what is ahead.
    const length = Math.min(lengthM, Math.PI / 2 / Math.max(1e-9, Math.abs(curvature)));
    for (let i = 1; i <= n; i++) {
        const s = (length * i) / n;
        const angle = curvature * s;
        const ahead = Math.abs(curvature) < 1e-6 ? s : Math.sin(angle) / curvature;
        const left = Math.abs(curvature) < 1e-6 ? 0 : (1 - Math.cos(angle)) / curvature;
        context.lineTo(-left * perM, -ahead * perM);
    }
    context.stroke();
}

export const votes: PanelKind = {
    id: "votes",
    title: "Votes",
    types: [Arbitration],
    shows: [Vote],
    per: "vehicle",
    places: { operate: "strip", simulation: "strip" },
    make: (context) => new VotesPanel(context),
};
