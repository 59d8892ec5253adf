"""Shapes: how much to draft this round? SHAPES holds every class of this folder that has a NAME."""

from engine.files.own import own_files
from engine.parts import Shape, parts_in

__path__.extend(own_files("shapes", __path__))
SHAPES: dict[str, type[Shape]] = parts_in(__name__, __path__)
