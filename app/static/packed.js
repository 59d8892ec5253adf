// @ts-check
// A page that stands alone (app/export.py) carries the server's answers with it; what is not among them needs the lab.

/**
 * Answers by the path that asks for them, without /lab/: JSON or text, or the file beside the page that holds it.
 * @typedef {Readonly<Record<string, string | {file: string}>>} Answers
 */

const BASE = "file:///lab/"; // never asked: it only gives paths something to be relative to
const LIBRARY = "lab-static/vendor/plotly-strict.min.js";
export const NEEDS =
  "This page holds recorded runs. To do this, serve the lab: pip install draftscope, then draftscope.";

/** What came with this page; null where a server stands behind it. @returns {Answers | null} */
export const packed = () => /** @type {{draftscopeAnswers?: Answers}} */ (globalThis).draftscopeAnswers ?? null;

/** Whether there is an answer: a server stands behind the page, or it came along. @param {string} path */
export function carries(path) {
  const found = packed();
  return !found || Object.hasOwn(found, path);
}

/** Where the server's answers are. @param {string} page its address */
export const base = (page) => (packed() ? BASE : new URL("lab/", page));

/** Where the library of the figures is. @param {string} page its address */
export function library(page) {
  const came = packed();
  if (!came) return new URL(LIBRARY.replace("lab-static", "."), import.meta.url).href;
  const found = came[LIBRARY];
  if (typeof found === "string") return URL.createObjectURL(new Blob([found], { type: "text/javascript" }));
  return new URL(found?.file ?? LIBRARY, page).href;
}

/**
 * In place of `fetch`: gives what came with the page, and says what the rest needs.
 * @param {Answers} answers
 * @param {(file: string) => Promise<Response>} [fetchFile]
 * @returns {typeof globalThis.fetch}
 */
export const fetchFrom =
  (answers, fetchFile = (file) => globalThis.fetch(new URL(file, document.baseURI))) =>
  async (address, options) => {
    const path = String(address).slice(BASE.length);
    const found = (options?.method ?? "GET") === "GET" ? answers[path] : undefined;
    if (typeof found === "string") return new Response(found);
    if (found) return fetchFile(found.file);
    return new Response(JSON.stringify({ error: NEEDS }), { status: 501 });
  };
