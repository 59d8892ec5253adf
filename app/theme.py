"""Gradio's own frame around the page: system fonts, our static files, nothing from the network."""

from pathlib import Path

import gradio as gr

STATIC = Path(__file__).parent / "static"
QUEUE = (  # Gradio may mount the page before the modules have arrived: its calls wait for them
    "window.draftscope={calls:[]};for(const name of ['mount','attach'])"
    "window.draftscope[name]=(...given)=>window.draftscope.calls.push([name,given]);"
)
STYLES = (
    "tokens.css",
    "lab.css",
    "views.css",
    "run.css",
    "stage.css",
    "workshop.css",
    "learn.css",
    "papers.css",
    "forced.css",
    "print.css",
)


def theme() -> gr.themes.Base:
    """System fonts only, so that no font is fetched."""
    return gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def head() -> str:
    """Style sheets and modules; the modules start loading while Gradio does."""
    modules = sorted(path.name for path in STATIC.glob("*.js"))
    lines = [f'<link rel="stylesheet" href="./lab-static/{name}">' for name in STYLES if (STATIC / name).exists()]
    lines += [f'<link rel="modulepreload" href="./lab-static/{name}">' for name in modules]
    lines += [f"<script>{QUEUE}</script>", '<script type="module" src="./lab-static/lab.js"></script>']
    return "\n".join(lines)
