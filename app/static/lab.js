// Entry: one store, one bus, and the views on the mount points of app/copy/page.html.

import { createBus } from "./bus.js";
import { createStore } from "./store.js";

const VIEWS = ["top", "runbar", "verdict", "strip", "lanes", "ribbon", "inspector", "tree", "aggregates", "divergence", "whatif", "foot", "timeline", "drawers"];

const store = createStore();
const lab = { store, notify, config: null, catalogue: null };
lab.bus = createBus(store, notify);
const base = new URL("../lab/", import.meta.url);
const modules = new Map(VIEWS.map((name) => [name, import(`./${name}.js`).catch((error) => console.warn(`view ${name}: ${error.message}`))]));

/** JSON from the server; an answer that says what is wrong becomes an error with those words. */
lab.fetch = async (path, options) => {
  const answer = await fetch(new URL(path, base), options);
  const body = await answer.json().catch(() => ({ error: `The server answered ${answer.status}.` }));
  if (!answer.ok) throw new Error(body.error ?? `The server answered ${answer.status}.`);
  return body;
};

const ready = (async () => {
  lab.catalogue = await lab.fetch("catalogue");
  store.emit("catalogue");
})();

async function mount(element) {
  window.draftscope.element = element;
  for (const spot of element.querySelectorAll("[data-view]")) {
    const module = await modules.get(spot.dataset.view);
    module?.mount(spot, store, lab);
  }
  await ready;
  store.load((await lab.fetch("trace")).lanes, { recorded: lab.catalogue.first });
}

function notify(text) {
  const spot = document.querySelector('[data-view="notices"]');
  spot?.append(Object.assign(document.createElement("p"), { textContent: text }));
}

window.draftscope = { store, lab, mount: (element) => mount(element), attach: lab.bus.attach };
