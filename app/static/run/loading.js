// @ts-check
// What the server loads before a run can begin: asked for as long as a run has begun and no round of it has come.

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 */

const EVERY = 700; // ms between questions

/** @param {Store} store @param {Pick<Lab, "api">} lab */
export function watchLoading(store, { api }) {
  let asking = false;
  /** Models are loaded before the lanes are there, heads when a lane begins. */
  const waits = () => {
    const { phase } = store.status;
    if (phase === "queued" || phase === "loading") return true;
    return phase === "running" && [...store.runs.values()].some(({ head, end }) => !head && !end);
  };

  async function ask() {
    asking = true;
    while (waits()) {
      const { loading } = await api.get("loading").catch(() => ({ loading: null }));
      if (loading || store.status.loading) store.setStatus({ loading });
      await new Promise((go) => setTimeout(go, EVERY));
    }
    asking = false;
    if (store.status.loading) store.setStatus({ loading: null });
  }
  store.on("status", () => {
    if (!asking && waits()) ask();
  });
}
