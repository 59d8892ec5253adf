"""Gradio's own frame around the page: system fonts, our static files, nothing from the network."""

import gradio as gr

from app.pagefiles import STYLES, address

QUEUE = (  # Gradio may mount the page before the modules have arrived: its calls wait for them
    "window.draftscope={calls:[]};for(const name of ['mount','attach'])"
    "window.draftscope[name]=(...given)=>window.draftscope.calls.push([name,given]);"
)


def theme() -> gr.themes.Base:
    """System fonts only, so that no font is fetched."""
    return gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def head() -> str:
    """Style sheets and the first module, as Gradio puts them into the page once it runs; `app.front` has them fetched
    before."""
    lines = [f'<link rel="stylesheet" href="{address()}/{name}">' for name in STYLES]
    lines += [f"<script>{QUEUE}</script>", f'<script type="module" src="{address()}/lab.js"></script>']
    return "\n".join(lines)
