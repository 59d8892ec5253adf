"""Shapes: how much to draft this round? SHAPES is the list of all."""

from engine.parts import Shape
from engine.shapes.chain import Chain
from engine.shapes.confidence import ConfidenceChain
from engine.shapes.dynamic_tree import DynamicTree
from engine.shapes.entropy_binned import EntropyBinned
from engine.shapes.entropy_stop import EntropyStop, EntropyStopTree
from engine.shapes.none import NoShape
from engine.shapes.static_tree import StaticTree

SHAPES: dict[str, type[Shape]] = {
    part.NAME: part
    for part in (NoShape, Chain, ConfidenceChain, StaticTree, DynamicTree, EntropyStop, EntropyStopTree, EntropyBinned)
}
