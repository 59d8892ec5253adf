// @ts-check
// Entry: makes the page's modules and puts the views on the mount points of app/copy/page.html.

import { createApi } from "./api.js";
import { createBus } from "./bus.js";
import { watchComing } from "./coming.js";
import { sameConfig } from "./config.js";
import { embed, pageQuery } from "./embed.js";
import { watchFlags } from "./flags.js";
import { watchFrame } from "./framed.js";
import { bindKeys } from "./keys.js";
import { createLink } from "./link.js";
import { createMined } from "./mined.js";
import { base, fetchFrom, packed } from "./packed.js";
import { placeOf } from "./rooms/address.js";
import { mountRooms, roomIn } from "./rooms/rooms.js";
import { watchLoading } from "./run/loading.js";
import { createSession } from "./session.js";
import { watchCards } from "./stage/hovercard.js";
import { readStage } from "./stage/stagelink.js";
import { createStore } from "./store.js";
import { watchTitles } from "./titles.js";
import { restoreTheme, watchPaper } from "./top.js";
import { createUi } from "./ui.js";
import { keepUnrun, LOST, unrun } from "./unrun.js";
import { watchWords } from "./words.js";

const PATIENCE = 1000; // ms that views wait for what they show: drawn empty before, they would move it when it comes
/** Views that are fetched while the page is built; any other mount point of page.html is fetched when the page
 * stands. */
const VIEWS = [
  "top",
  "runbar",
  "verdict",
  "stage/stage",
  "strip",
  "stage/sourceline",
  "lanes",
  "stage/score",
  "stage/treegrid",
  "tree",
  "stage/shares",
  "stage/details",
  "inspector",
  "stage/others",
  "aggregates",
  "divergence",
  "whatif",
  "foot",
  "timeline",
  "learn/panel",
  "drawers",
];

const store = createStore();
const answers = packed();
const api = createApi(base(document.baseURI), answers ? fetchFrom(answers) : undefined, (words) => ui.notify(words));
const ui = createUi(() => document.querySelector('[data-view="notices"]'));
const bus = createBus(store, ui.notify);
const session = createSession({ store, api, bus, ui });
const link = createLink(store, session, ui.notify);
/** @type {import("./types/lab.js").Lab} */
const lab = { api, bus, session, ui, link, mined: createMined(api) };

/**
 * @param {string} name
 * @returns {Promise<[string, {mount: import("./types/lab.js").Mount} | null]>}
 */
const fetched = (name) =>
  import(`./${name}.js`).then(
    (module) => [name, module],
    (error) => {
      console.warn(`view ${name}: ${error.message}`);
      return [name, null];
    },
  );
const modules = VIEWS.map(fetched);
const wanted = pageQuery();
const catalogue = api.get("catalogue");
const opened = answers?.opened ? api.get("opened") : null; // runs that a page which stands alone was made for
const early = opened || (wanted.has("m") && !answers) ? null : api.get("trace", { name: wanted.get("trace") ?? "" });
for (const asked of [catalogue, early, opened]) asked?.catch(() => {}); // told to the visitor where it is waited for

/** @param {HTMLElement} element */
async function mount(element) {
  restoreTheme();
  watchPaper();
  const marked = [...element.querySelectorAll("[data-view]")].map((spot) => spot.getAttribute("data-view") ?? "");
  const further = marked.filter((name) => name !== "notices" && !VIEWS.includes(name));
  const ready = await Promise.all([...modules, ...further.map(fetched)]);
  await Promise.race([Promise.allSettled([catalogue, early]), new Promise((done) => setTimeout(done, PATIENCE))]);
  for (const [name, module] of ready) {
    const spot = element.querySelector(`[data-view="${name}"]`);
    if (spot instanceof HTMLElement && module) module.mount(spot, store, lab);
  }
  store.setOption("room", roomIn(wanted));
  for (const [option, value] of Object.entries(placeOf(wanted)))
    store.setOption(/** @type {keyof ReturnType<typeof placeOf>} */ (option), value);
  const { stage } = readStage(wanted);
  if (stage) store.setOption("stage", stage); // its tab, before the runs are there
  mountRooms(element, store, lab);
  bindKeys(store, lab);
  watchFlags(store, lab);
  watchComing(element, store, session);
  if (!answers) watchLoading(store, lab);
  if (!answers) keepUnrun(store, session);
  watchCards(store);
  watchTitles(element);
  watchFrame(element);
  watchWords(element, store, lab);
  try {
    await begin();
  } catch (error) {
    ui.notify(error instanceof Error ? error.message : String(error));
  }
}

/** Show what the address asks for, else the first recorded case. */
async function begin() {
  const found = await catalogue;
  session.take(found, null);
  const { trace, config, view } = link.read();
  if (config && !answers && !opened) {
    session.take(found, config);
    await session.run();
    link.restoreInRun(view, config);
  } else {
    const there = opened ? true : await session.openRecorded(trace ?? "", early);
    if (opened) await session.openGiven(opened);
    link.restore(there ? view : { ...view, filters: [], time: null, cursor: null }); // places of runs that are not here
  }
  if (!answers) setAgain(unrun(found));
  embed(document.body, store, wanted);
  document.documentElement.dataset.draftscope = "ready";
}

/** Set what a page before this one had set and not run. @param {ReturnType<typeof unrun>} before */
function setAgain({ config, asked }) {
  if (!config || !session.config) return;
  const same = sameConfig(config, session.config);
  if (asked && !(same && bus.busy)) ui.notify(LOST);
  if (same) return;
  const others = config.models !== session.config.models;
  session.configure(config, "reload");
  if (others) void session.chooseModels(config.models, "reload");
}

/** @typedef {{calls?: [string, any[]][]}} Waiting what the page asked for before these modules had come */
const page = /** @type {Window & {draftscope?: any}} */ (window);
const { calls = [] } = /** @type {Waiting} */ (page.draftscope ?? {});
page.draftscope = { store, lab, ...lab, mount, attach: bus.attach };
for (const [name, given] of calls) page.draftscope[name](...given);
