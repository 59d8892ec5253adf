/** How the ribbon's columns are painted, on a canvas or anything like it. */

import { FONT, SIGNS, pieceOf, stateOf } from "./draw.js";
import { paintFlags } from "./flags.js";
import { allowedAt, heightOf, known, rankY, yOf } from "./ribbonrows.js";
import { linesOf } from "./thresholds.js";

/** The columns first..last at `width` px each, x = 0 at column `first`.
 * @param {any} ctx @param {any} view {run, list, rows, first, last, width, whatif, ink, passes} */
export function paintColumns(ctx, view) {
  const { rows, list, first, last, width, ink } = view;
  const right = (last - first) * width;
  paintRounds(ctx, view);
  for (const row of rows) {
    if (row.low !== undefined) {
      ctx.fillStyle = ink("--line");
      ctx.fillRect(0, row.key === "rank" ? row.y : row.y + row.height, right, 1);
    }
    PAINT[row.key](ctx, row, view);
    for (const line of linesOf(view.run, row.key, view.whatif?.knobs)) paintThreshold(ctx, row, line, right, ink);
  }
  paintPositions(ctx, view);
  ctx.fillStyle = ink("--panel");
  ctx.globalAlpha = 0.72;
  for (let i = first; i < last; i += 1)
    if (!view.passes(list[i])) ctx.fillRect((i - first) * width, 0, width, rows.at(-1).y + rows.at(-1).height + 2);
  ctx.globalAlpha = 1;
  if (view.whatif) paintWhatIf(ctx, view);
}

function paintThreshold(ctx, row, line, right, ink) {
  const y = Math.round(yOf(row, line.value)) + 0.5;
  ctx.strokeStyle = ink("--judge");
  ctx.lineWidth = 1.25;
  ctx.setLineDash([5, 3]);
  ctx.beginPath();
  ctx.moveTo(0, y);
  ctx.lineTo(right, y);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Round bands: alternating in the decision row; bins tint all rows and are named where there is room. */
function paintRounds(ctx, { run, list, rows, first, last, width, ink }) {
  const state = rows[0];
  const bottom = rows.at(-1).y + rows.at(-1).height;
  const bins = [];
  for (let i = first; i < last; ) {
    const index = list[i].round;
    let end = i;
    while (end < last && list[end].round === index) end += 1;
    const x = (i - first) * width;
    if (width >= 2 && index % 2) {
      ctx.fillStyle = ink("--hover");
      ctx.fillRect(x, state.y - 4, (end - i) * width, state.height + 6);
    }
    if (width >= 5 && list[i].pos === run.rounds[index].start) {
      ctx.fillStyle = ink("--line");
      ctx.fillRect(x, state.y - 4, 1, bottom - state.y + 4);
    }
    const bin = run.rounds[index].extras?.bin;
    if (known(bin)) {
      if (bins.length && bins.at(-1).bin === bin) bins.at(-1).end = end;
      else bins.push({ bin, start: i, end });
    }
    i = end;
  }
  for (const { bin, start, end } of bins) {
    const x = (start - first) * width;
    ctx.globalAlpha = Math.max(0, 0.22 - 0.06 * bin);
    ctx.fillStyle = ink("--judge");
    if (bin < 4)
      ctx.fillRect(
        x,
        rows.find((row) => row.key === "entropy").y,
        (end - start) * width,
        rows.find((row) => row.key === "entropy").height,
      );
    ctx.globalAlpha = 1;
    if ((end - start) * width < 30) continue;
    ctx.font = `10px ${FONT}`;
    ctx.fillStyle = ink("--judge");
    ctx.textAlign = "left";
    ctx.fillText(`bin ${bin}`, x + 3, rows.find((row) => row.key === "entropy").y + 9);
  }
}

function paintState(ctx, row, { list, first, last, width, ink }) {
  const middle = row.y + row.height / 2;
  for (let i = first; i < last; i += 1) {
    const state = signOf(list[i]);
    const look = SIGNS[state] ?? SIGNS.target;
    const x = (i - first) * width;
    if (width < 8) {
      const level = { accepted: 0, target: 0, relaxed: 0.3, bonus: 0.55, correction: 0.55, vetoed: 0.75 }[state] ?? 0;
      ctx.fillStyle = ink(look.colour);
      ctx.fillRect(
        x,
        row.y + row.height * (0.6 - level * 0.8),
        Math.max(0.6, width - (width > 2 ? 1 : 0)),
        row.height * (0.4 + level * 0.8),
      );
      continue;
    }
    paintSign(ctx, look, x + width / 2, middle, Math.min(5, width * 0.36), ink);
  }
}

/** The sign of a column: a veto shows as a veto, not as the correction it leads to. @param {any} column @returns {string} */
export function signOf(column) {
  return column.ghost && column.node.state === "vetoed" ? "vetoed" : stateOf(column.token, column.node);
}

/** Paints a sign on a canvas-like context. */
export function paintSign(ctx, look, x, y, r, ink) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(r, r);
  ctx.fillStyle = ctx.strokeStyle = ink(look.colour);
  ctx.lineWidth = (look.wide ? 2 : 1.4) / r;
  if (look.dash) ctx.setLineDash([1.6 / r, 1.6 / r]);
  look.path ??= Object.assign(new Path2D(look.d), { d: look.d });
  if (look.fill) ctx.fill(look.path);
  else ctx.stroke(look.path);
  ctx.restore();
}

function paintText(ctx, row, { run, list, first, last, width, ink }) {
  ctx.font = `10.5px ${FONT}`;
  ctx.textAlign = "center";
  ctx.fillStyle = ink("--ink");
  for (let i = first; i < last; i += 1) {
    ctx.fillText(
      pieceOf(run, list[i].token.token, Math.max(2, Math.floor(width / 6.4))),
      (i - first + 0.5) * width,
      row.y + 11,
    );
  }
}

function steps(ctx, row, view, read) {
  const { list, first, last, width } = view;
  let open = false;
  ctx.beginPath();
  for (let i = first; i < last; i += 1) {
    const value = read(list[i]);
    if (!known(value)) {
      open = false;
      continue;
    }
    const x = (i - first) * width;
    const y = yOf(row, value);
    if (open) ctx.lineTo(x, y);
    else ctx.moveTo(x, y);
    ctx.lineTo(x + width, y);
    open = true;
  }
}

function bars(ctx, row, view, read, colour, most = 2) {
  const { list, first, last, width, ink } = view;
  const pad = width >= 4 ? Math.min(most, width * 0.15) : 0;
  for (let i = first; i < last; i += 1) {
    const value = read(list[i]);
    if (!known(value)) continue;
    const y = yOf(row, value);
    ctx.fillStyle = ink(typeof colour === "function" ? colour(list[i]) : colour);
    ctx.fillRect(
      (i - first) * width + pad,
      Math.min(y, row.y + row.height - 1),
      Math.max(0.5, width - 2 * pad),
      Math.max(1, row.y + row.height - y),
    );
  }
}

const PAINT = {
  state: paintState,
  text: paintText,
  entropy(ctx, row, view) {
    const draft = (column) => column.token.h_draft ?? column.node?.h_draft ?? null;
    bars(ctx, row, view, draft, "--draft-soft", 0);
    ctx.lineWidth = 1.25;
    ctx.strokeStyle = view.ink("--draft");
    steps(ctx, row, view, draft);
    ctx.stroke();
    ctx.lineWidth = 1.75;
    ctx.strokeStyle = view.ink("--target");
    steps(ctx, row, view, row.value);
    ctx.stroke();
  },
  overlap: (ctx, row, view) => bars(ctx, row, view, row.value, "--line-2"),
  keep(ctx, row, view) {
    bars(ctx, row, view, row.value, (column) => (column.ghost ? "--target-2" : "--draft-2"));
    ctx.fillStyle = view.ink("--ink");
    for (let i = view.first; i < view.last; i += 1) {
      const u = view.sampled ? view.list[i].node?.u : null;
      if (known(u)) ctx.fillRect((i - view.first) * view.width + 1, yOf(row, u) - 1, Math.max(1, view.width - 2), 2);
    }
  },
  rank(ctx, row, { list, first, last, width, ink }) {
    for (let i = first; i < last; i += 1) {
      const rank = row.value(list[i]);
      if (rank === null) continue;
      const y = rankY(row, rank);
      const out = rank >= row.high;
      ctx.fillStyle = ink(out ? "--target" : rank > 1 ? "--target-2" : "--draft-2");
      const size = Math.max(1, Math.min(5, width - 1));
      if (rank > 1) ctx.fillRect((i - first + 0.5) * width - 0.5, row.y, 1, y - row.y);
      ctx.fillRect((i - first + 0.5) * width - size / 2, y - 2, size, 4);
    }
  },
  gap(ctx, row, view) {
    bars(ctx, row, view, row.value, (column) => (column.ghost ? "--target-2" : "--draft-2"));
    ctx.strokeStyle = view.ink("--judge");
    ctx.lineWidth = 1.25;
    steps(ctx, row, view, allowedAt);
    ctx.stroke();
  },
  judge: (ctx, row, view) => bars(ctx, row, view, row.value, "--judge"),
  flags: paintFlags,
  depth(ctx, row, view) {
    ctx.strokeStyle = view.ink("--ink-2");
    ctx.lineWidth = 1.25;
    steps(ctx, row, view, row.value);
    ctx.stroke();
  },
  nodes: (ctx, row, view) => PAINT.depth(ctx, row, view),
};

function paintPositions(ctx, { rows, list, first, last, width, ink }) {
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => step * width >= 44) ?? 1000;
  ctx.font = `10px ${FONT}`;
  ctx.textAlign = "center";
  ctx.fillStyle = ink("--ink-3");
  const y = heightOf(rows) - 4;
  for (let i = first; i < last; i += 1)
    if (list[i].pos % every === 0 && i > first) ctx.fillText(String(list[i].pos), (i - first + 0.5) * width, y);
}

/** Marks where a moved threshold fires, and hatching from the first changed decision on. */
function paintWhatIf(ctx, { rows, list, first, last, width, whatif, ink }) {
  const state = rows[0];
  for (let i = first; i < last; i += 1) {
    if (!whatif.marks.has(list[i].pos)) continue;
    const x = (i - first + 0.5) * width;
    ctx.fillStyle = ink("--judge");
    ctx.beginPath();
    ctx.moveTo(x - 4, state.y - 7);
    ctx.lineTo(x + 4, state.y - 7);
    ctx.lineTo(x, state.y - 1);
    ctx.closePath();
    ctx.fill();
  }
  if (whatif.changed === null || whatif.changed >= (list[last - 1]?.pos ?? 0)) return;
  const from = Math.max(0, (whatif.changed + 1 - first) * width);
  const bottom = rows.at(-1).y + rows.at(-1).height;
  ctx.fillStyle = ink("--panel");
  ctx.globalAlpha = 0.6;
  ctx.fillRect(from, 0, (last - first) * width - from, bottom);
  ctx.globalAlpha = 0.55;
  ctx.strokeStyle = ink("--judge");
  ctx.lineWidth = 1;
  ctx.beginPath();
  const right = (last - first) * width;
  for (let x = from - bottom; x < right; x += 9) {
    const start = Math.max(x, from);
    const end = Math.min(x + bottom, right);
    if (end <= start) continue;
    ctx.moveTo(start, bottom - (start - x));
    ctx.lineTo(end, bottom - (end - x));
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
  if (right - from < 60) return;
  const words = "beyond here the text would differ; run to see";
  ctx.font = `12px ${FONT}`;
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--panel");
  ctx.fillRect(from + 8, bottom / 2 - 14, words.length * 6.3 + 14, 22);
  ctx.fillStyle = ink("--ink");
  ctx.fillText(words, from + 15, bottom / 2 + 1);
}
