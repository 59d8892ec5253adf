// @ts-check
// The four views of the stage, as its tabs, a link and the drawer of figures name them.

/** @type {readonly {id: import("../types/store.js").Options["stage"], name: string, title: string}[]} */
export const VIEWS = [
  { id: "text", name: "Text", title: "What came out, token by token" },
  { id: "score", name: "Score", title: "Every signal of every method on one axis of positions" },
  { id: "trees", name: "Trees", title: "The drafts of all methods at the position under the cursor" },
  { id: "shares", name: "Shares", title: "How often each method's draft tokens are accepted, and where its time goes" },
];
export const MANY = 6; // more lanes than this open in the score, folded

/** What the page calls one of them. @param {string} id */
export const viewName = (id) => VIEWS.find((view) => view.id === id)?.name ?? "";
