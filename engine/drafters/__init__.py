"""Drafters: what might come next? One paper or idea a file; DRAFTERS holds every class of the folder with a NAME."""

from engine.files.own import own_files
from engine.parts import Drafter, parts_in

__path__.extend(own_files("drafters", __path__))
DRAFTERS: dict[str, type[Drafter]] = parts_in(__name__, __path__)
