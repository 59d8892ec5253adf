// @ts-check
// HTML that the server made from this repository's documents, as nodes of the page: only elements and attributes on a
// list come over, so that a mistake in a document cannot become a script.

const HTML =
  "a blockquote br code dd del div dl dt em h1 h2 h3 h4 hr li ol p pre s span strong sub sup table tbody td th " +
  "thead tr ul";
const MATH =
  "math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mroot mrow ms mspace msqrt mstyle msub msubsup " +
  "msup mtable mtd mtext mtr munder munderover";
const MATH_ATTRIBUTES =
  "accent columnalign columnspacing display displaystyle fence form linethickness lspace mathvariant maxsize minsize " +
  "movablelimits rowspacing rspace scriptlevel separator stretchy width";
const NAMESPACES = new Map([
  ["http://www.w3.org/1999/xhtml", { tags: set(HTML), attributes: set("colspan href id rowspan start") }],
  ["http://www.w3.org/1998/Math/MathML", { tags: set(MATH), attributes: set(MATH_ATTRIBUTES) }],
]);
// They go with all that is in them.
const DROPPED = set("script style template iframe object embed svg noscript textarea title");
const ADDRESS = /^(https?:\/\/|\?|#)/i;
const PREFIX = "text-"; // ids of a text are apart from those of the page
const BELOW = 2; // levels by which the headings of a text lie below the page's and the room's

/** @param {string} words */
function set(words) {
  return new Set(words.split(" "));
}

/** The id on the page of an anchor in a text. @param {string} anchor */
export const idOf = (anchor) => PREFIX + anchor;

/**
 * Whether an element comes over; one that does not leaves its text, except where that is no text.
 * @param {string | null} namespace @param {string} tag @returns {"keep" | "open" | "drop"}
 */
export function fateOf(namespace, tag) {
  if (NAMESPACES.get(namespace ?? "")?.tags.has(tag)) return "keep";
  return DROPPED.has(tag.toLowerCase()) ? "drop" : "open";
}

/**
 * An attribute as it comes over, or null.
 * @param {string | null} namespace @param {string} name @param {string} value @returns {string | null}
 */
export function attributeOf(namespace, name, value) {
  if (!NAMESPACES.get(namespace ?? "")?.attributes.has(name)) return null;
  if (name === "href") return ADDRESS.test(value) ? value : null;
  return name === "id" ? idOf(value) : value;
}

/** The tag that an element has on the page: a heading is one of a text. @param {string} tag */
export const tagOf = (tag) => tag.replace(/^h([1-4])$/, (_, level) => `h${Number(level) + BELOW}`);

/**
 * A copy of a node and what is in it, made of what is allowed alone.
 * @param {Node} node @param {Node} into @param {Document} page
 */
export function adopt(node, into, page) {
  for (const child of node.childNodes) {
    if (child.nodeType === 3) into.appendChild(page.createTextNode(child.nodeValue ?? ""));
    if (child.nodeType !== 1) continue;
    const { namespaceURI, localName, attributes } = /** @type {Element} */ (child);
    const fate = fateOf(namespaceURI, localName);
    if (fate === "drop") continue;
    if (fate === "open") {
      adopt(child, into, page);
      continue;
    }
    const element = page.createElementNS(namespaceURI, tagOf(localName));
    for (const { name, value } of attributes) {
      const allowed = attributeOf(namespaceURI, name, value);
      if (allowed !== null) element.setAttribute(name, allowed);
    }
    if (localName === "a" && /^http/i.test(element.getAttribute("href") ?? "")) {
      element.setAttribute("target", "_blank");
      element.setAttribute("rel", "noreferrer");
    }
    adopt(child, element, page);
    into.appendChild(element);
  }
}

/** A text of the repository, to be put into the page. @param {string} html */
export function prose(html) {
  const fragment = document.createDocumentFragment();
  adopt(new DOMParser().parseFromString(html, "text/html").body, fragment, document);
  return fragment;
}
