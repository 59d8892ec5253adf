// As much of a document as figures need: what is drawn, and what is told where the pointer is. No browser.

class Drawn {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    /** @type {Record<string, string>} */
    this.attrs = {};
    /** @type {(Drawn | string)[]} */
    this.children = [];
    /** @type {Record<string, ((event: object) => void)[]>} */
    this.heard = {};
    this.style = {};
    this.classList = { toggle: () => {} };
    this.isConnected = true;
  }
  /** @param {string} name @param {unknown} value */
  setAttribute(name, value) {
    this.attrs[name] = String(value);
  }
  /** @param {string} name */
  getAttribute(name) {
    return this.attrs[name] ?? null;
  }
  /** @param {(Drawn | string)[]} children */
  append(...children) {
    this.children.push(...children);
  }
  /** @param {(Drawn | string)[]} children */
  replaceChildren(...children) {
    this.children = children;
  }
  /** @param {string} topic @param {(event: object) => void} hear */
  addEventListener(topic, hear) {
    this.heard[topic] = [...(this.heard[topic] ?? []), hear];
  }
  getBoundingClientRect() {
    return { left: 0, top: 0, bottom: 0, width: 0, height: 0 };
  }
  /** @returns {string} */
  get textContent() {
    return this.children.map((one) => (typeof one === "string" ? one : one.textContent)).join("");
  }
  set textContent(text) {
    this.children = [text];
  }
  /** All that is in it, itself first. @returns {Drawn[]} */
  all() {
    return [this, ...this.children.flatMap((one) => (typeof one === "string" ? [] : one.all()))];
  }
}

/** Puts the page's document in place. @returns {{tip: (mark: Drawn) => string[]}} `tip`: what is told of a mark */
export function page() {
  const body = new Drawn("body");
  const create = (/** @type {string} */ name) => new Drawn(name);
  Object.assign(globalThis, {
    document: { body, querySelector: () => null, createElement: create, createElementNS: (_, name) => create(name) },
    window: { innerWidth: 1000, innerHeight: 1000 },
    MutationObserver: class {
      observe() {}
    },
  });
  return {
    tip(mark) {
      for (const hear of mark.heard.pointermove ?? []) hear({ clientX: 0, clientY: 0 });
      const [box] = body.children.slice(-1);
      return typeof box === "object" ? box.children.map((one) => /** @type {Drawn} */ (one).textContent) : [];
    },
  };
}
