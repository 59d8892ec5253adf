"""Markdown of this repository as HTML: formulae as MathML, links inside the docs as links of the Learn room."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from latex2mathml import exceptions
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from engine.errors import ConfigError

OUTSIDE = re.compile(r"[a-z]+:|//")
PAGE = re.compile(r"(?:\./)?([\w./-]*?)\.md(#[\w.-]*)?$")
UNREADABLE: tuple[type[Exception], ...] = tuple(kind for kind in vars(exceptions).values() if isinstance(kind, type))
ARG = re.compile(r"\\arg(?![a-zA-Z])")
COMMAND = re.compile(r"\\[a-zA-Z]*")
Resolve = Callable[[str], str | None]  # a page's name to its address on the page; None where the page does not show it


def mathml(formula: str, display: bool) -> str:
    """A LaTeX formula as MathML.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        found = str(convert(ARG.sub(r"\\operatorname{arg}", formula), display="block" if display else "inline"))
    except UNREADABLE as error:
        raise ConfigError(f"The formula {formula!r} cannot be read: {type(error).__name__}.") from None
    found = found.replace("\\_", "_")
    if unknown := COMMAND.search(found):  # the converter leaves it as it stands
        raise ConfigError(f"The formula {formula!r} cannot be read: {unknown[0]} is not known.")
    return found


def html(text: str, resolve: Resolve = lambda name: None) -> str:
    """Markdown as HTML. Raw HTML in the text is shown as text; links to other addresses open beside the page.

    Raises:
        ConfigError: a formula cannot be read.
    """
    return str(_parser().render(text, {"resolve": resolve}))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    dollarmath_plugin(parser, renderer=_math, allow_labels=False, double_inline=True)
    anchors_plugin(parser, max_level=3)
    parser.add_render_rule("link_open", _link)
    return parser


def _math(formula: str, options: dict[str, Any]) -> str:
    return mathml(formula, bool(options.get("display_mode")))


def _link(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: dict[str, Any]) -> str:
    token = tokens[at]
    address = str(token.attrGet("href") or "")
    if OUTSIDE.match(address):
        token.attrSet("rel", "noreferrer")
        token.attrSet("target", "_blank")
    elif found := PAGE.match(address):
        resolved = env["resolve"](found[1])
        token.attrSet("href", f"{resolved}{found[2] or ''}" if resolved else "#")
    return renderer.renderToken(tokens, at, options, env)
