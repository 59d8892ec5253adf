"""The static tree keeps to the levels and slots that a round has left."""

from types import SimpleNamespace
from typing import cast

import pytest

from engine.config import Knob
from engine.errors import ConfigError
from engine.parts import Kit
from engine.shapes.static_tree import StaticTree
from engine.trees.template import best_first, chain_template


def shape(chains=False, **knobs):
    values = {knob.name: knob.check(knobs.get(knob.name, knob.default)) for knob in StaticTree.KNOBS}
    kit = SimpleNamespace(target=SimpleNamespace(only_chains=chains))
    return StaticTree(cast(Kit, kit), values)


@pytest.mark.parametrize(("space", "room"), [(1000, 1000), (79, 1000), (1000, 3), (0, 5), (5, 0), (10, 2)])
def test_template_fits_the_round(space, room):
    tree = shape()
    cut = tree.template(SimpleNamespace(space=space, room=room))
    assert len(cut) <= space
    assert cut.depth <= room
    assert cut == best_first(80, 20).cut(space, room)
    assert tree.template(SimpleNamespace(space=space, room=room)) is cut


def test_sizes_are_knobs():
    assert len(shape(tree_nodes=625).tree) == 625
    assert shape(tree_nodes=200, tree_depth=4).tree.depth == 4


def test_a_tree_nobody_knows_is_refused():
    knob: Knob = StaticTree.KNOBS[0]
    with pytest.raises(ConfigError, match="best_first"):
        knob.check("best_frst")


def test_where_only_chains_can_be_checked_a_tree_is_its_first_branch():
    assert shape(chains=True, tree_depth=6).tree == chain_template(6)
