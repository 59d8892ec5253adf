"""What a reader would trip over on a page: texts that overprint each other, texts that are cut, letters too small to read.

Looks at the text of the document, HTML and SVG; what canvases paint is not seen.
"""

from typing import Any

STILL = """() => new Promise((done) => {
  let timer = 0;
  const rest = () => { clearTimeout(timer); timer = setTimeout(end, 250); };
  const watcher = new MutationObserver(rest);
  const end = () => { watcher.disconnect(); requestAnimationFrame(() => requestAnimationFrame(done)); };
  watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  setTimeout(end, 5000);
  rest();
})"""
"""Resolves once nothing has changed for a quarter of a second: lanes are laid out anew some time after a window changed."""

FAULTS = """() => {
  const found = new Set();
  const solid = (one, stop) => {
    for (; one && one !== stop; one = one.parentElement) {
      const [, , , alpha = 1] = (getComputedStyle(one).backgroundColor.match(/[0-9.]+/g) ?? [0, 0, 0, 0]).map(Number);
      if (alpha > 0.9) return true;
    }
    return false;
  };
  const windows = new Map([[null, { left: -1e6, right: 1e6, top: -1e6, bottom: 1e6, cuts: false }]]);
  const windowOf = (one) => {
    if (windows.has(one)) return windows.get(one);
    const style = getComputedStyle(one);
    let inside = style.position === "fixed" ? windows.get(null) : windowOf(one.parentElement);
    const clips = style.overflowX !== "visible" && one !== document.documentElement && one !== document.body;
    if (clips && style.display !== "inline") {
      const box = one.getBoundingClientRect();
      const says = style.textOverflow === "ellipsis" || /auto|scroll/.test(style.overflowX + style.overflowY);
      inside = {
        left: Math.max(inside.left, box.left), right: Math.min(inside.right, box.right),
        top: Math.max(inside.top, box.top), bottom: Math.min(inside.bottom, box.bottom),
        cuts: inside.cuts || !says, says: inside.says || says,
      };
    }
    windows.set(one, inside);
    return inside;
  };
  const words = (text) => text.trim().replace(/\\s+/g, " ").slice(0, 40);
  const parts = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const home = node.parentElement;
    if (!node.data.trim() || home.closest("title, option, select, script, style, math, .skip")) continue;
    if (getComputedStyle(home).clipPath === "inset(50%)") continue; // for those who listen alone
    if (!home.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const inside = windowOf(home);
    const size = parseFloat(getComputedStyle(home).fontSize);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1.5 || rect.height < 1.5) continue;
      const seen = {
        left: Math.max(rect.left, inside.left), right: Math.min(rect.right, inside.right),
        top: Math.max(rect.top, inside.top), bottom: Math.min(rect.bottom, inside.bottom),
      };
      const [wide, tall] = [seen.right - seen.left, seen.bottom - seen.top];
      if (wide < 1.5 || tall < 1.5) continue;
      const lost = Math.max(rect.width - wide - 2, (rect.height - tall) / 2 - 2);
      if (lost > 1 && inside.cuts && !inside.says) found.add(`cut: ${words(node.data)}`);
      const { a, b } = home.ownerSVGElement ? home.getScreenCTM() : { a: 1, b: 0 };
      const scale = Math.hypot(a, b);
      if (size * scale < 9.95) found.add(`small: ${words(node.data)} ${(size * scale).toFixed(1)}`);
      parts.push({ ...seen, home, text: node.data });
    }
  }
  parts.sort((a, b) => a.top - b.top);
  for (const [i, a] of parts.entries())
    for (let j = i + 1; j < parts.length && parts[j].top < a.bottom - 2; j += 1) {
      const b = parts[j];
      const [wide, tall] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - b.top];
      if (wide < 1.5 || tall < Math.min(a.bottom - a.top, b.bottom - b.top) / 3 || a.home === b.home) continue;
      let common = a.home;
      while (common && !common.contains(b.home)) common = common.parentElement;
      if (!solid(a.home, common) && !solid(b.home, common)) found.add(`overprinted: ${words(a.text)} / ${words(b.text)}`);
    }
  return [...found];
}"""


def faults(page: Any) -> list[str]:
    """What is hard to read on the page as it is now, in words; empty where nothing is."""
    found: list[str] = page.evaluate(FAULTS)
    return found
