"""Gradio's own frame around the page: system fonts, our static files, nothing from the network."""

import gradio as gr

from app.pagefiles import STYLES, address, first_modules, further_modules

QUEUE = (  # Gradio may mount the page before the modules have arrived: its calls wait for them
    "window.draftscope={calls:[]};for(const name of ['mount','attach'])"
    "window.draftscope[name]=(...given)=>window.draftscope.calls.push([name,given]);"
)


def theme() -> gr.themes.Base:
    """System fonts only, so that no font is fetched."""
    return gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def head() -> str:
    """Style sheets and modules, those of rooms behind what the first look runs. Gradio puts them into the page once it
    runs itself: where they come first its own files wait, and the page stays empty for twice as long."""
    at = address()
    lines = [f'<link rel="stylesheet" href="{at}/{name}">' for name in STYLES]
    lines += [f'<link rel="modulepreload" href="{at}/{name}">' for name in first_modules()]
    lines += [f'<link rel="prefetch" href="{at}/{name}">' for name in further_modules()]
    lines += [f"<script>{QUEUE}</script>", f'<script type="module" src="{at}/lab.js"></script>']
    return "\n".join(lines)
