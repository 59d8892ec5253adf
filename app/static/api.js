// @ts-check
// The server's answers over HTTP. One that says what is wrong becomes an error with those words.

/** @typedef {import("./types/lab.js").Api} Api */

export const AWAY = "The server does not answer. Try again when it is back.";
const LOST = "The connection was lost; what had arrived is kept.";
export const RENEWED =
  "This lab was updated after this page had been loaded, and parts of the page may not fit it any more: load the " +
  "page again. Save first what you want to keep.";
const EDITION = "Draftscope-Edition"; // the header that tells of which files the server's page is made now
const OWN = /\/(e-[0-9a-f]{16})\//.exec(import.meta.url)?.[1] ?? "";

/** Browsers call a lost connection a TypeError, each in words of its own; here it gets ours. Others stay.
 * @param {string} words @returns {(error: unknown) => never} */
const inWords = (words) => (error) => {
  throw error instanceof TypeError ? new Error(words) : error;
};

/** Whether the server refused what was asked for, so that it would again. @param {unknown} error */
export const isRefusal = (error) => error instanceof Error && Number(error.cause) >= 400 && Number(error.cause) < 500;

const SAME = new Set(["glossary", "lessons", "page", "pages"]); // what a server answers alike as long as it runs

/**
 * @param {string | URL} base address of /lab/
 * @param {typeof globalThis.fetch} [fetch]
 * @param {(words: string) => void} [tell] what to tell once the server's page is another than this one
 * @param {string} [own] the edition of this page
 * @returns {Api}
 */
export function createApi(base, fetch = (...given) => globalThis.fetch(...given), tell = () => {}, own = OWN) {
  let known = own;
  /** @param {string | null} there the edition of the server's page */
  const compare = (there) => {
    if (!own || !there || there === known) return;
    known = there;
    if (there !== own) tell(RENEWED);
  };
  /** @type {Api["answer"]} */
  const answer = async (path, options) => {
    const response = await fetch(new URL(path, base), options).catch(inWords(AWAY));
    compare(response.headers.get(EDITION));
    if (response.ok) return response;
    const body = await response.json().catch(() => null);
    throw new Error(body?.error ?? `The server answered ${response.status}.`, { cause: response.status });
  };
  /** @param {Response} response */
  const json = (response) =>
    response.json().catch((error) => {
      if (error instanceof SyntaxError) throw new Error(`The server answered ${response.status} without JSON.`);
      return inWords(AWAY)(error);
    });
  /** @type {Map<string, Promise<any>>} */
  const kept = new Map();
  return {
    answer,
    get: async (path, query = {}) => {
      const address = addressOf(path, query);
      if (!SAME.has(path)) return json(await answer(address));
      const found = kept.get(address) ?? answer(address).then(json);
      kept.set(address, found);
      found.catch(() => kept.delete(address)); // to be asked for again
      return found;
    },
    post: async (path, body) => json(await answer(path, posted(body))),
    async *lines(path, body, signal) {
      const response = await answer(path, { ...posted(body), signal });
      if (response.body) yield* linesOf(response.body);
    },
  };
}

/** A path with its query. @param {string} path @param {Readonly<Record<string, string>>} query */
function addressOf(path, query) {
  const pairs = new URLSearchParams(query).toString();
  return pairs ? `${path}?${pairs}` : path;
}

/** A request with a body: plain values as JSON, a file as it is. @param {unknown} body @returns {RequestInit} */
export function posted(body) {
  if (body instanceof Blob) return { method: "POST", body };
  return { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
}

/**
 * The items of a stream with one JSON value a line; an unfinished last line is left out.
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncGenerator<any, void, undefined>} each as `LineAnswers` of types/lab.d.ts has it for the path
 */
export async function* linesOf(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    const next = () => reader.read().catch(inWords(LOST));
    for (let part = await next(); !part.done; part = await next()) {
      const lines = (rest + decoder.decode(part.value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim()) yield JSON.parse(line);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
