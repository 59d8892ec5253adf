// Names that `lab` had before its modules were told apart; gone as soon as no view uses them.

/** @param {any} lab @param {any} store */
export function withOldNames(lab, store) {
  const { api, session, ui } = lab;
  const old = {
    store,
    answer: api.answer,
    fetch: async (path, options) => (await api.answer(path, options)).json(),
    notify: ui.notify,
    clearNotices: ui.clearNotices,
    drawer: ui.open,
    closeDrawer: ui.close,
    showCard: (name) => ui.open("methods", name),
    figures: ui.figures,
    openRecorded: session.openRecorded,
    openFiles: session.openFiles,
    togglePlay: () => ui.emit("play"),
    stepBy: (by) => ui.emit("step", by),
    stepNow: session.step,
  };
  Object.defineProperty(old, "catalogue", { get: () => session.catalogue });
  Object.defineProperty(old, "config", { get: () => session.config, set: (config) => session.configure(config) });
  return Object.assign(old, lab);
}
