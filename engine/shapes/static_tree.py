"""A static tree: the same template of ranks in every round. Medusa, Token Recycling, STAND (section 4.2, App. A.1). S5,
S6."""

from typing import ClassVar

from engine.config import Knob
from engine.parts import Context, Kit, Knobs, Outcome
from engine.trees.template import Template, best_first, chain_template, named_template, tree_names

GENERATED = "best_first"


class StaticTree:
    """A shipped template by name, or one generated best-first; cut to the levels and cache slots that a round has
    left."""

    NAME: ClassVar[str] = "static_tree"
    KIND: ClassVar[str] = "static_tree"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "tree",
            GENERATED,
            "shape of the draft: a tree shipped with the lab, or best_first with the two sizes below",
            choices=(GENERATED, *tree_names()),
        ),
        Knob(
            "tree_nodes",
            80,
            "nodes of a best_first tree, or most used of a shipped one",
            1,
            1024,
            1,
            "nodes",
            origin="paper",
        ),
        Knob("tree_depth", 20, "deepest level used", 1, 64, 1, "levels", origin="paper"),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        name, nodes, depth = str(knobs["tree"]), int(knobs["tree_nodes"]), int(knobs["tree_depth"])
        self.tree: Template = best_first(nodes, depth) if name == GENERATED else named_template(name).cut(nodes, depth)
        if kit.target.only_chains:
            self.tree = chain_template(self.tree.depth)
        self._cut: tuple[tuple[int, int], Template] = ((-1, -1), self.tree)

    def begin(self) -> None: ...

    def template(self, context: Context) -> Template:
        """The tree of this round: at most `context.space` nodes and `context.room` levels."""
        room = (context.space, context.room)
        if room[0] >= len(self.tree) and room[1] >= self.tree.depth:
            return self.tree
        if self._cut[0] != room:
            self._cut = (room, self.tree.cut(*room))
        return self._cut[1]

    def observe(self, outcome: Outcome) -> None: ...
