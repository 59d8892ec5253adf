/** The aggregate figures: each draws a lane's rounds at a size, alone or as one of the small multiples on the same
 * scales. */

import { bar, frame, keyLine, line, marker, pickable, point } from "./charts.js";
import { nameOf } from "./columns.js";
import { s } from "./dom.js";
import { fmt, label, linear, percent, tip } from "./draw.js";
import { makeFilter } from "./filterkinds.js";
import { binned, byPosition, lengthCurve, plainOf, roundsOf, summary, tested, wilson } from "./numbers.js";

/** @typedef {{id: string, name: string, names: string[], caption: string, needs: (rounds: any[]) => boolean, domain: (all: any[][]) => any,
 *   draw: (given: any) => SVGElement}} Figure  draw({rounds, width, height, small, title, domain, store, run}) */

const most = (all, read, floor = 1) => Math.max(floor, ...all.map((rounds) => read(rounds)));
const drafted = (rounds) => rounds.some((round) => round.drafted > 0);
const BIN = 0.5;
const FEW = 5; // fewer guesses than this are drawn hollow and left out of the line

/** @type {Figure} */
const position = {
  id: "position",
  name: "By position",
  names: ["accept_by_depth"],
  caption:
    "Bars: rounds that accepted a draft token at this position / rounds with a draft. Squares: accepted / tested there (95 % Wilson).",
  needs: drafted,
  domain: (all) => ({
    depth: most(all, (rounds) => byPosition(rounds).tested.findLastIndex((count) => count > 0) + 1),
  }),
  draw({ rounds, width, height, small, title, domain, store }) {
    const { marginal, conditional, accepted, tested: seen, drafting } = byPosition(rounds);
    const chart = frame({
      width,
      height,
      small,
      title,
      x: [0.5, domain.depth + 0.5],
      y: [0, 1],
      xName: "position in the draft",
      yName: "share accepted",
      xWhole: true,
      yFormat: percent,
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      key: true,
    });
    marginal.slice(0, domain.depth).forEach((share, i) => {
      const depth = i + 1;
      bar(chart, {
        x0: chart.x(depth - 0.36),
        x1: chart.x(depth + 0.36),
        value: share,
        colour: "--draft-2",
        store,
        lines: [
          `position ${depth}`,
          `accepted in ${accepted[i]} of ${drafting} rounds: ${percent(share)}`,
          `accepted ${accepted[i]} of ${seen[i]} tested here: ${percent(conditional[i])}`,
        ],
        pick: { name: "depth", filter: makeFilter({ kind: "depth", depth }) },
      });
    });
    line(
      chart,
      conditional.map((share, i) => [i + 1, share]),
      { stroke: "var(--target)" },
    );
    conditional.forEach((share, i) => {
      if (share === null) return;
      const [low, high] = wilson(accepted[i], seen[i]);
      if (!small)
        chart.plot.append(
          s("line", {
            x1: chart.x(i + 1),
            x2: chart.x(i + 1),
            y1: chart.y(low),
            y2: chart.y(high),
            stroke: "var(--target)",
            "stroke-width": 1,
            "pointer-events": "none",
          }),
        );
      point(chart, i + 1, share, { shape: "square", colour: "--target", size: small ? 1.8 : 3.5 }).setAttribute(
        "pointer-events",
        "none",
      );
    });
    if (!small)
      keyLine(chart.figure, chart.left, 9, [
        { words: "of all rounds", colour: "--draft-2", shape: "bar" },
        { words: "of those tested here", colour: "--target", shape: "square" },
      ]);
    return chart.figure;
  },
};

/** @type {Figure} */
const histogram = {
  id: "accepted",
  name: "Accepted a round",
  names: ["accepted_histogram", "tau", "accepted"],
  caption:
    "Rounds by the number of draft tokens accepted. Tokens a call = accepted + the target's own token, averaged.",
  needs: drafted,
  domain: (all) => ({
    x: most(all, (rounds) => summary(rounds).histogram.length - 1),
    y: Math.max(...all.map((rounds) => Math.max(...summary(rounds).histogram) / Math.max(1, rounds.length))),
  }),
  draw({ rounds, width, height, small, title, domain, store }) {
    const numbers = summary(rounds);
    const n = Math.max(1, numbers.rounds);
    const chart = frame({
      width,
      height,
      small,
      title,
      x: [-0.5, domain.x + 0.5],
      y: [0, domain.y * 1.12],
      xName: "draft tokens accepted in a round",
      yName: "share of rounds",
      xWhole: true,
      yFormat: percent,
    });
    numbers.histogram.forEach((count, kept) =>
      bar(chart, {
        x0: chart.x(kept - 0.4),
        x1: chart.x(kept + 0.4),
        value: count / n,
        colour: "--draft-2",
        store,
        lines: [`${kept} accepted`, `${count} of ${n} rounds (${percent(count / n)})`],
        pick: { name: "kept", filter: makeFilter({ kind: "kept", kept }) },
      }),
    );
    const mean = numbers.accepted / n;
    marker(chart, mean, `mean ${fmt(mean)}; ${fmt(numbers.tau)} tokens a call`, { colour: "--target" });
    return chart.figure;
  },
};

/** @type {Figure} */
const entropy = {
  id: "entropy",
  name: "Entropy",
  names: ["accept_rate_tested"],
  caption:
    "Share of tested draft tokens accepted, by entropy of the distribution at their place (bins of 0.5 nats, 95 % Wilson; hollow: fewer than 5). Grey: number of draft tokens.",
  needs: (rounds) =>
    rounds.some((round) => round.nodes?.some((node) => node.h_target !== null && node.h_target !== undefined)),
  domain: (all) => ({
    x: most(
      all,
      (rounds) =>
        Math.max(
          0,
          ...tested(rounds, (node) => Math.max(node.h_draft ?? 0, node.h_target ?? 0)).map((pair) => pair[0]),
        ),
      1,
    ),
  }),
  draw({ rounds, width, height, small, title, domain, store }) {
    const high = Math.ceil(domain.x / BIN) * BIN;
    const chart = frame({
      width,
      height,
      small,
      title,
      x: [0, high],
      y: [-0.28, 1],
      xName: "entropy, nats",
      yName: "share accepted",
      yFormat: percent,
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      key: true,
    });
    const kinds = [
      ["h_draft", "draft", "--draft", "disc", -0.045],
      ["h_target", "target", "--target", "square", 0.045],
    ];
    for (const [field, who, colour, shape, shift] of kinds) {
      const bins = binned(
        tested(rounds, (node) => node[field]),
        BIN,
      );
      const total = Math.max(1, ...bins.map((bin) => bin.n));
      const middle = (bin) => (bin.low + bin.high) / 2 + shift;
      if (field === "h_target")
        for (const bin of bins)
          chart.plot.append(
            s("rect", {
              x: chart.x(bin.low) + 1,
              width: Math.max(0, chart.x(bin.high) - chart.x(bin.low) - 2),
              y: chart.y(-0.28 + (0.24 * bin.n) / total),
              height: Math.max(0, chart.y(-0.28) - chart.y(-0.28 + (0.24 * bin.n) / total)),
              fill: "var(--neutral-soft)",
            }),
          );
      line(
        chart,
        bins.filter((bin) => bin.n >= FEW).map((bin) => [middle(bin), bin.share]),
        { stroke: `var(${colour})` },
      );
      for (const bin of bins) {
        if (bin.share === null) continue;
        if (!small)
          chart.plot.append(
            s("line", {
              x1: chart.x(middle(bin)),
              x2: chart.x(middle(bin)),
              y1: chart.y(bin.interval[0]),
              y2: chart.y(bin.interval[1]),
              stroke: `var(${colour})`,
              opacity: 0.6,
            }),
          );
        const mark = point(chart, middle(bin), bin.share, {
          shape,
          colour,
          hollow: bin.n < FEW,
          size: small ? 1.8 : 3.6,
          lines: [
            `H(${who}) ${fmt(bin.low)} to ${fmt(bin.high)} nats`,
            `accepted ${bin.kept} of ${bin.n}: ${percent(bin.share)}`,
          ],
        });
        if (!small)
          pickable(chart.figure, mark, store, {
            name: field,
            filter: makeFilter({ kind: "entropy", field, low: bin.low, high: bin.high }),
          });
      }
    }
    if (!small)
      keyLine(chart.figure, chart.left, 9, [
        { words: "by H(draft)", colour: "--draft", shape: "disc" },
        { words: "by H(target)", colour: "--target", shape: "square" },
        ...(width > 420 ? [{ words: "draft tokens by H(target)", colour: "--neutral-soft", shape: "bar" }] : []),
      ]);
    return chart.figure;
  },
};

const PARTS = [
  ["draft_ms", "draft", "--draft-2"],
  ["verify_ms", "target", "--target-2"],
  ["other_ms", "other", "--neutral"],
];

/** @type {Figure} */
const time = {
  id: "time",
  name: "Time",
  names: ["draft_s", "verify_s", "other_s", "tokens_per_s", "prefill_s"],
  caption:
    "Top: milliseconds a token, all lanes on one scale (shorter is faster). Below: each round of this lane. Prefill lies outside all rounds.",
  needs: (rounds) => rounds.length > 0,
  alone: true,
  domain: () => ({}),
  draw({ rounds, width, store, run }) {
    const runs = store.lanes.map((key) => store.runs.get(key)).filter((one) => one && store.visibleRounds(one) > 0);
    const lanes = runs.map((one) => [one, summary(one.rounds.slice(0, store.visibleRounds(one)))]);
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
      ...lanes.map(([, numbers]) => (numbers.draft + numbers.verify + numbers.other) / Math.max(1, numbers.tokens)),
    );
    const x = linear(0, high, name, width - 92);
    keyLine(
      figure,
      name,
      10,
      PARTS.map(([, words, colour]) => ({ words, colour, shape: "bar" })),
    );
    lanes.forEach(([one, numbers], i) => {
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
      for (const [part, , colour] of [
        ["draft", 0, "--draft-2"],
        ["verify", 0, "--target-2"],
        ["other", 0, "--neutral"],
      ]) {
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
      group.append(label(x(at) + 5, y + 14, `${fmt(at)} ms  ${fmt(numbers.perSecond)}/s`, { "font-size": 10.5 }));
      const prefill = one.end?.prefill_ms;
      tip(group, () => [
        nameOf(store, one),
        ...PARTS.map(([field, words]) => {
          const part = numbers[field.replace("_ms", "")];
          return `${words}: ${fmt(part / Math.max(1, numbers.rounds))} ms a round, ${percent(part / (numbers.draft + numbers.verify + numbers.other))}`;
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
    rounds.forEach((round, i) => {
      let base = 0;
      for (const [field, , colour] of PARTS) {
        bar(chart, {
          x0: chart.left + i * w,
          x1: chart.left + (i + 1) * w - (w > 3 ? 0.75 : 0),
          value: base + round[field],
          base,
          colour,
        });
        base += round[field];
      }
    });
    chart.figure.setAttribute("y", top);
    figure.append(chart.figure);
    return figure;
  },
};

const cut = (text, room) => (text.length > room ? `${text.slice(0, Math.max(3, Math.floor(room) - 1))}…` : text);

/** @type {Figure} */
const lengths = {
  id: "length",
  name: "Draft length",
  names: ["cost_ratio"],
  caption:
    "Line: speed predicted if k levels were drafted, E(k) / (v(k) + k c + o), from acceptance by position, draft step c, call v and overhead o, all as measured. Square: measured.",
  needs: (rounds) => drafted(rounds) && summary(rounds).costRatio !== null,
  domain: (all) => ({
    k: most(all, (rounds) =>
      Math.min(byPosition(rounds).marginal.length, byPosition(rounds).accepted.findLastIndex((count) => count > 0) + 4),
    ),
    y: Math.max(1.2, ...all.flatMap((rounds) => lengthCurve(rounds).map((one) => one.speed ?? 0))),
  }),
  draw({ rounds, width, height, small, title, domain, store, run }) {
    const other = plainOf(store, run);
    const plain = other ? summary(roundsOf(store, [other])) : null;
    const curve = lengthCurve(rounds, plain).filter((one) => one.k <= domain.k);
    const numbers = summary(rounds);
    const measured = plain?.perSecond ? numbers.perSecond / plain.perSecond : null;
    const chart = frame({
      width,
      height,
      small,
      title,
      x: [0, domain.k],
      y: [0, Math.max(domain.y, measured ?? 0) * 1.1],
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
      curve.map((one) => [one.k, one.speed]),
      { stroke: "var(--draft)" },
    );
    const best = curve.reduce((top, one) => (one.speed > top.speed ? one : top));
    for (const one of curve)
      point(chart, one.k, one.speed, {
        shape: one === best ? "diamond" : "disc",
        colour: "--draft",
        size: small ? 1.6 : one === best ? 4.5 : 3,
        lines: [`k = ${one.k}`, `${fmt(one.calls)} tokens a call expected`, `${fmt(one.speed)} times, predicted`],
      });
    const mean = rounds.reduce((sum, round) => sum + round.levels, 0) / Math.max(1, numbers.drafting);
    if (measured !== null && mean <= domain.k)
      point(chart, mean, measured, {
        shape: "square",
        colour: "--target",
        size: small ? 2 : 4.5,
        lines: ["measured", `${fmt(mean)} levels a round on average`, `${fmt(measured)} times`],
      });
    if (small) return chart.figure;
    const high = chart.x(best.k) > chart.right - 120;
    chart.figure.append(
      label(
        chart.x(best.k) + (high ? -8 : 8),
        chart.y(best.speed) - 8,
        `best predicted: k = ${best.k}, ${fmt(best.speed)} times`,
        { fill: "var(--draft)", "text-anchor": high ? "end" : "start" },
      ),
    );
    if (measured !== null && mean <= domain.k)
      chart.figure.append(
        label(chart.x(mean), chart.y(measured) + 18, `measured ${fmt(measured)}`, {
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

/** @type {Figure[]} */
export const FIGURES = [position, histogram, entropy, time, lengths];
