"""What goes over the wire between server and page, as types; `app.typings` writes the page's declarations from them.

Answers are plain JSON. Where a value is made by `dataclasses.asdict`, or is an event of a trace, its shape is named by
`Annotated[..., Shape(kind)]`: the annotation is for the page, the first type for this side.
"""
