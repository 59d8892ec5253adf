// @ts-check
// Figures of cost: where the time goes, and what another draft length would gain.

import { nameOf } from "../columns.js";
import { s } from "../dom.js";
import { cut, fmt, label, linear, perCall, percent, perSecond, times, tip } from "../draw.js";
import { billed, byPosition, drafted, lengthCurve, most, plainOf, roundsOf, summary, timesOf } from "../numbers.js";
import { bar, frame, keyLine, line, point } from "./charts.js";

/**
 * @typedef {import("./figures.js").Figure} Figure
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("../numbers.js").Summary} Summary
 */

/** @type {Figure} */
export const time = {
  id: "time",
  name: "Time",
  names: ["draft_s", "verify_s", "other_s", "reward_s", "tokens_per_s", "prefill_s"],
  caption:
    "Top: milliseconds a token, all lanes on one scale (shorter is faster). Below: each round of this lane. Prefill " +
    "lies outside all rounds.",
  needs: (rounds) => rounds.length > 0,
  alone: true,
  domain: () => ({}),
  draw({ rounds, width, store, run }) {
    const runs = [...store.runs.values()].filter((one) => store.visibleRounds(one) > 0);
    const lanes = runs.map((one) => ({ one, numbers: summary(billed(one, roundsOf(store, [one]))) }));
    const parts = timesOf(lanes.map(({ numbers }) => numbers));
    const rowHeight = 22;
    const top = lanes.length * rowHeight + 50;
    const height = top + 150;
    const figure = s("svg.v-figure", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": "Time budget",
    });
    const name = Math.min(150, width * 0.3);
    const high = Math.max(
      ...lanes.map(({ numbers }) => (numbers.draft + numbers.verify + numbers.other) / Math.max(1, numbers.tokens)),
    );
    const x = linear(0, high, name, width - 92);
    keyLine(
      figure,
      name,
      10,
      parts.map(({ words, colour }) => ({ words, colour, shape: "bar" })),
    );
    lanes.forEach(({ one, numbers }, i) => {
      const y = 18 + i * rowHeight;
      const chosen = one === run;
      const group = s(
        "g.v-pick",
        { style: "cursor:pointer" },
        s("rect", { x: 0, y, width, height: rowHeight, fill: "transparent" }),
      );
      group.append(
        label(name - 6, y + 14, cut(nameOf(store, one), name / 6.6), {
          "text-anchor": "end",
          "font-weight": chosen ? 700 : 400,
          fill: "var(--ink)",
        }),
      );
      let at = 0;
      for (const { part, colour } of parts) {
        const each = numbers[part] / Math.max(1, numbers.tokens);
        group.append(
          s("rect", {
            x: x(at),
            y: y + 4,
            width: Math.max(0, x(at + each) - x(at)),
            height: rowHeight - 9,
            fill: `var(${colour})`,
          }),
        );
        at += each;
      }
      group.append(label(x(at) + 5, y + 14, `${fmt(at)} ms  ${perSecond(numbers.perSecond)}/s`, { "font-size": 10.5 }));
      const prefill = one.end?.prefill_ms;
      const whole = numbers.draft + numbers.verify + numbers.other;
      tip(group, () => [
        nameOf(store, one),
        ...timesOf([numbers]).map(({ part, words }) => {
          const each = fmt(numbers[part] / Math.max(1, numbers.rounds));
          return `${words}: ${each} ms a round, ${percent(numbers[part] / whole)}`;
        }),
        prefill !== undefined && prefill !== null ? `prefill: ${fmt(prefill)} ms, once` : "",
      ]);
      group.addEventListener("click", () => one.rounds.length && store.setCursor({ run: one.key, round: 0, pos: 0 }));
      figure.append(group);
    });
    figure.append(label((name + width - 92) / 2, top - 18, "milliseconds a token", { "text-anchor": "middle" }));
    const peak = Math.max(...rounds.map((round) => round.draft_ms + round.verify_ms + round.other_ms));
    const chart = frame({
      width,
      height: 150,
      x: [0, rounds.length],
      y: [0, peak],
      xName: "round",
      yName: "ms",
      xWhole: true,
    });
    const w = (chart.right - chart.left) / rounds.length;
    billed(run, rounds).forEach((round, i) => {
      let base = 0;
      for (const { ms, colour } of parts) {
        bar(chart, {
          x0: chart.left + i * w,
          x1: chart.left + (i + 1) * w - (w > 3 ? 0.75 : 0),
          value: base + ms(round),
          base,
          colour,
        });
        base += ms(round);
      }
    });
    chart.figure.setAttribute("y", String(top));
    figure.append(chart.figure);
    return figure;
  },
};

/** The numbers of the lane without a draft that a run is set against; null where there is none.
 * @param {import("../types/store.js").Store} store @param {import("../types/store.js").Run} run
 * @returns {Summary | null} */
export function plainNumbers(store, run) {
  const other = plainOf(store, run);
  return other ? summary(roundsOf(store, [other])) : null;
}

/** How many times the plain lane's speed was measured.
 * @param {readonly Round[]} rounds
 * @param {Summary | null | undefined} plain */
function measuredTimes(rounds, plain) {
  const { perSecond } = summary(rounds);
  return plain?.perSecond && perSecond ? perSecond / plain.perSecond : null;
}

/** @type {Figure} */
export const lengths = {
  id: "length",
  name: "Draft length",
  names: ["cost_ratio"],
  caption:
    "Line: speed predicted if k levels were drafted, E(k) / (v(k) + k c + o), from acceptance by position, draft " +
    "step c (one, where one pass writes the draft), call v and overhead o, all as measured. Square: measured.",
  needs: (rounds) => drafted(rounds) && summary(rounds).costRatio !== null,
  domain: (all, plains = []) => ({
    k: most(all, (rounds) =>
      Math.min(byPosition(rounds).marginal.length, byPosition(rounds).accepted.findLastIndex((count) => count > 0) + 4),
    ),
    y: Math.max(
      1.2,
      ...all.flatMap((rounds, i) => lengthCurve(rounds, plains[i]).map((one) => one.speed ?? 0)),
      ...all.map((rounds, i) => measuredTimes(rounds, plains[i]) ?? 0),
    ),
  }),
  draw({ rounds, width, height, small, title, domain, store, run }) {
    const other = plainOf(store, run);
    const plain = plainNumbers(store, run);
    const curve = lengthCurve(rounds, plain).filter((one) => one.k <= domain.k);
    const numbers = summary(rounds);
    const measured = measuredTimes(rounds, plain);
    const chart = frame({
      width,
      height,
      small,
      title,
      x: [0, domain.k],
      y: [0, domain.y * 1.1],
      xName: "levels drafted, k",
      yName: other ? `times ${cut(nameOf(store, other), 18)}` : "times k = 0",
      xWhole: true,
    });
    chart.plot.append(
      s("line", {
        x1: chart.left,
        x2: chart.right,
        y1: chart.y(1),
        y2: chart.y(1),
        stroke: "var(--ink-3)",
        "stroke-dasharray": "2 3",
      }),
    );
    line(
      chart,
      curve.map((one) => /** @type {const} */ ([one.k, one.speed])),
      { stroke: "var(--draft)" },
    );
    const best = curve.reduce((top, one) => ((one.speed ?? 0) > (top.speed ?? 0) ? one : top));
    for (const one of curve)
      point(chart, one.k, one.speed ?? 0, {
        shape: one === best ? "diamond" : "disc",
        colour: "--draft",
        size: small ? 1.6 : one === best ? 4.5 : 3,
        lines: [`k = ${one.k}`, `${perCall(one.calls)} tokens a call expected`, `${times(one.speed)}, predicted`],
      });
    const mean = rounds.reduce((sum, round) => sum + round.levels, 0) / Math.max(1, numbers.drafting);
    if (measured !== null && mean <= domain.k)
      point(chart, mean, measured, {
        shape: "square",
        colour: "--target",
        size: small ? 2 : 4.5,
        lines: ["measured", `${fmt(mean)} levels a round on average`, times(measured)],
      });
    if (small) return chart.figure;
    const high = chart.x(best.k) > chart.right - 120;
    chart.figure.append(
      label(
        chart.x(best.k) + (high ? -8 : 8),
        chart.y(best.speed ?? 0) - 8,
        `best predicted: k = ${best.k}, ${times(best.speed)}`,
        { fill: "var(--draft)", "text-anchor": high ? "end" : "start" },
      ),
    );
    if (measured !== null && mean <= domain.k)
      chart.figure.append(
        label(chart.x(mean), chart.y(measured) + 18, `measured ${times(measured)}`, {
          fill: "var(--target)",
          "text-anchor": "middle",
        }),
      );
    chart.figure.append(
      label(chart.right, chart.bottom - 6, `c = ${fmt(numbers.costRatio, 2)}: one draft step / one target call`, {
        "text-anchor": "end",
        "font-size": 10.5,
      }),
    );
    return chart.figure;
  },
};
