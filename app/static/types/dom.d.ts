// Types of `dom.js`: which element a spec such as "div.card" makes, what attributes and children it takes.

type Tag<S extends string> = S extends `${infer T}.${string}` ? T : S;

export type HtmlOf<S extends string> =
  Tag<S> extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[Tag<S>]
    : Tag<S> extends ""
      ? HTMLDivElement
      : HTMLElement;
export type SvgOf<S extends string> =
  Tag<S> extends keyof SVGElementTagNameMap ? SVGElementTagNameMap[Tag<S>] : SVGElement;

type Handlers = {
  readonly [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => unknown;
};
/** `on...` listens, `text` is the text content, null, undefined and false leave an attribute out. */
export type Attributes = Handlers & { readonly text?: string | null } & {
  readonly [name: string]: unknown;
};
export type Child = Node | string | false | null | undefined;
export type Children = (Child | readonly Child[])[];
