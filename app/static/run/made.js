// @ts-check
// With what a run was made: models and their revisions, versions, device, day. All of it is in the trace's head.

/** "sha256:95838de51d1db421" -> "95838de5", a commit the same; "" where there is none. @param {unknown} revision */
const short = (revision) => (typeof revision === "string" ? revision.replace(/^.*:/, "").slice(0, 8) : "");

/** The last part of an id or path. @param {unknown} id */
const base = (id) => (typeof id === "string" && id ? (id.split("/").filter(Boolean).at(-1) ?? id) : "unnamed");

/**
 * In sentences: each role with its model and revision, then versions, arithmetic, device and day.
 * @param {import("../types/trace.js").RunStarted} head
 * @returns {string[]}
 */
export function madeWith({ models, versions, dtype, device, created, seed }) {
  const roles = Object.entries(models).map(([role, model]) => {
    const revision = short(model?.revision);
    return `${role} ${base(model?.id)}${revision ? ` (${revision})` : ", revision not recorded"}`;
  });
  const with_ = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const how = [...with_, String(dtype).replace("torch.", ""), device, `seed ${seed}`].filter(Boolean);
  return [`${roles.join("; ")}.`, `${how.join(", ")}${created ? `, ${created.slice(0, 10)}` : ""}.`];
}
