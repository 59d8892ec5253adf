"""Drafters: what might come next? One paper or idea a file; DRAFTERS is the list of all."""

from engine.drafters.model import ModelDrafter
from engine.drafters.none import NoDrafter
from engine.parts import Drafter

DRAFTERS: dict[str, type[Drafter]] = {part.NAME: part for part in (NoDrafter, ModelDrafter)}
