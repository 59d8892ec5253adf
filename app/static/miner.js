/** Mining live: one job at a time, its events as they come, stop and resume. The server keeps finished prompts under
 * this browser's key. */

import { addPrompt, emptySet, readMined } from "./mined.js";
import { waitingWords } from "./run/waiting.js";
import { visitor } from "./visitor.js";

export const MINE = "mined here";

/** @param {any} lab @returns {any} `state` is what the panel shows; `start`, `stop` and `kept` act */
export function createMiner(lab) {
  const own = visitor();
  const listeners = new Set();
  let aborter = null;
  const state = { running: false, phase: "", progress: null, text: "", error: "", feed: [] };
  const tell = (partial) => (Object.assign(state, partial), listeners.forEach((fn) => fn()));
  const body = (job) => ({
    method: "POST",
    body: JSON.stringify({ ...job, key: own }),
    headers: { "Content-Type": "application/json" },
  });

  /** What was mined before with these settings, as a set, or null. */
  async function kept(job) {
    const text = await (await lab.api.answer("mine/kept", body(job))).text();
    const whole = text.slice(0, text.lastIndexOf("\n") + 1); // a line may be under way
    return whole.trim() ? readMined(whole, MINE) : null;
  }

  async function start(job) {
    if (state.running) return;
    aborter = new AbortController();
    tell({ running: true, phase: "waiting for the models", progress: null, error: "", feed: [], text: "" });
    try {
      const before = await kept(job);
      if (before) lab.mined.put(before);
      const answer = await lab.api.answer("mine", { ...body(job), signal: aborter.signal });
      let rest = "";
      for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) take(JSON.parse(line), before);
      }
      if (state.phase !== "done" && !state.error)
        throw new Error("The connection ended early. Finished prompts are kept: mine again to go on.");
    } catch (error) {
      tell(error.name === "AbortError" ? { phase: "stopped" } : { phase: "failed", error: error.message });
    } finally {
      aborter = null;
      tell({ running: false });
    }
  }

  /** Labels of the whole set, those of earlier sessions included. */
  function counts() {
    const items = lab.mined.sets.get(MINE)?.items ?? [];
    return { labels: items.length, important: items.filter((item) => item.label.important).length };
  }

  function take(event, before) {
    if (event.kind === "queued" && event.line) tell({ phase: waitingWords(event.line) });
    if (event.kind === "error") tell({ error: event.error, phase: "failed" });
    else if (event.kind === "started") {
      lab.mined.put(before ?? emptySet(MINE, event.head));
      tell({
        phase: "mining",
        progress: { done: event.done, total: event.total, ...counts(), seconds: 0, left_s: null },
      });
    } else if (event.kind === "prompt_started")
      tell({ text: event.text, answer: event.answer, left: event.mismatches.length, feed: [] });
    else if (event.kind === "mismatch") tell({ feed: [{ ...event }, ...state.feed].slice(0, 6) });
    else if (event.kind === "fork")
      tell({ feed: state.feed.map((one, i) => (i ? one : { ...one, draft_answer: event.answer })) });
    else if (event.kind === "labelled")
      tell({
        left: event.mismatches.length,
        feed: state.feed.map((one, i) =>
          i
            ? one
            : {
                ...one,
                important: event.label.important,
                target_answer: event.label.target_answer,
                draft_answer: event.label.draft_answer,
              },
        ),
      });
    else if (event.kind === "prompt") {
      const set = lab.mined.sets.get(MINE);
      addPrompt(set, event);
      lab.mined.emit();
    } else if (event.kind === "progress") tell({ progress: { ...event, ...counts() } });
    else if (event.kind === "ended")
      tell({ phase: "done", progress: { ...state.progress, done: event.done, total: event.total, left_s: 0 } });
  }

  return {
    state,
    start,
    kept,
    stop: () => aborter?.abort(),
    on: (fn) => (listeners.add(fn), () => listeners.delete(fn)),
  };
}
