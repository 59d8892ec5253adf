// @ts-check
// This browser's key on the server, the same for all its tabs: mined sets are kept under it, and its runs take turns.

const PLACE = "draftscope.miner";
let unkept = "";

/** 128 random bits in hexadecimal digits; without storage they last until the page is closed. */
export function visitor() {
  try {
    const kept = localStorage.getItem(PLACE);
    if (kept && /^[0-9a-f]{32}$/.test(kept)) return kept;
  } catch {
    // without storage
  }
  unkept ||= Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
  try {
    localStorage.setItem(PLACE, unkept);
  } catch {
    // without storage
  }
  return unkept;
}
