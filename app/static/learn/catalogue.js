// @ts-check
// The catalogue, waited for.

/** A link may open this room before the catalogue has come. @param {import("../types/lab.js").Lab} lab
 * @returns {Promise<void>} */
export function catalogueOf({ session }) {
  if (session.catalogue) return Promise.resolve();
  return new Promise((resolve) => {
    const off = session.on("catalogue", () => {
      off();
      resolve();
    });
  });
}
