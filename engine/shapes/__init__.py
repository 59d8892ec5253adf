"""Shapes: how much to draft this round? SHAPES holds every class of this folder that has a NAME."""

from engine.parts import Shape, parts_in

SHAPES: dict[str, type[Shape]] = parts_in(__name__, __path__)
