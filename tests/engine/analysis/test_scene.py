"""What surrounds a decision: the target's choice, what came instead, siblings and branches."""

from typing import Any

from engine.analysis.scene import Scene, share
from tests.engine.analysis.made import CAT, DOG, HAS, SAMPLED, SAT, WORDS, bush, chain, head

PIECES = dict(enumerate(WORDS))


def scene(reason: dict[str, Any] | None = None, states: str = "r", sampled: bool = False, **node: Any) -> Scene:
    event = chain(0, 0, states, [CAT, HAS, SAT][: len(states)], DOG, **node)
    event.nodes[0].reason = reason  # type: ignore[assignment]
    run = head()
    run.sampling = SAMPLED if sampled else run.sampling
    return Scene(run, event, 0, PIECES)


def test_the_target_s_choice_is_the_noted_one_else_the_first_of_its_list() -> None:
    top = [(DOG, 0.55), (CAT, 0.25)]
    assert (scene({"choice": CAT}, top_target=top).choice, scene(top_target=top).choice) == (CAT, DOG)
    assert scene({"choice": CAT}, top_target=top).preferred == "`cat` (0.25)"
    assert scene(top_target=top).preferred == "`dog` (0.55)" and scene({"choice": HAS}).preferred == "`·has`"
    assert scene().choice is None and scene().preferred == "another token" and scene().numbers == {}
    assert scene().greedy and not scene(sampled=True).greedy
    assert (share(top, CAT), share(top, SAT), share(None, CAT)) == (" (0.25)", "", "")


def test_what_came_instead_is_of_the_place_where_the_walk_ended() -> None:
    assert scene(states="rdd").corrected == DOG
    event = chain(0, 0, "ard", [CAT, HAS, SAT], DOG)
    assert [Scene(head(), event, i, PIECES).corrected for i in range(3)] == [None, DOG, None]
    bonus = chain(0, 0, "a", [CAT], DOG, "bonus")
    assert Scene(head(), bonus, 0, PIECES).corrected is None


def test_siblings_and_branches_of_a_tree() -> None:
    """The root has cat and dog, dog has `has` and `is`; dog and `is` are kept; sat stands below cat and below `is`."""
    trace = bush()
    every = [Scene(trace.head, trace.rounds[0], i, PIECES) for i in range(6)]
    assert [one.elder for one in every] == [False, True, False, True, False, False]
    assert [one.taken for one in every] == ["`dog`", "`dog`", "`·is`", "`·is`", "", ""]
    assert every[5].branch == "`dog`" and every[4].branch == ""
