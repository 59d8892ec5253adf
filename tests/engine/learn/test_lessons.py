"""Lessons: every task can be solved on its recorded traces, wrong answers are refused, and a bad file says what is wrong."""

import json
import re

import pytest

from engine.errors import ConfigError
from engine.files.places import PRESETS
from engine.lab import Lab
from engine.learn.lessons import Lesson, Step, check, lessons, lessons_json, parse
from engine.learn.recorded import case
from engine.rules import THRESHOLDS
from engine.trace.store import Trace
from tests.typed import some

LESSONS = lessons(THRESHOLDS)
TASKS = [(lesson, step) for lesson in LESSONS for step in lesson.steps if step.task]
HEAD = '+++\ntitle = "T"\nteaches = "x"\ncase = "first_look"\n+++\n'
GOOD = HEAD + "Intro.\n\n## One\n\n```toml\n{}\n```\n\nText.\n"


def name(item: object) -> str:
    return item.name if isinstance(item, Lesson) else item.title if isinstance(item, Step) else ""


def right_and_wrong(step: Step) -> tuple[list, list]:
    """Answers that must pass, and answers that must not."""
    task = step.task
    assert task is not None
    if task.kind == "choice":
        indices = range(len(task.options))
        return list(task.answer), [i for i in indices if i not in task.answer] + [-1, len(task.options)]
    if task.kind == "predict":
        far = task.tolerance * 1.01 + 0.01
        return [task.answer, task.answer + task.tolerance], [task.answer + far, task.answer - far, None]
    if task.kind == "select":
        recorded = case(step.case)
        lane = next(key for key, index in recorded.lanes.items() if index == task.lane)
        good = [place.to_json() for place in task.answer]
        chosen = {(p["round"], p["node"], p["pos"]) for p in good}
        others = [p.to_json() for p in recorded.places(lane) if (p.round, p.node, p.pos) not in chosen]
        return good, [p for p in others if not any(q["round"] == p["round"] and q["pos"] == p["pos"] for q in good)]
    good = [value for value, count in task.counts if count == task.answer]
    return good, [value for value, count in task.counts if count != task.answer] + [task.counts[0][0] - 1, 1e6]


@pytest.mark.parametrize(("lesson", "step"), TASKS, ids=name)
def test_a_task_can_be_solved_and_refuses_wrong_answers(lesson: Lesson, step: Step) -> None:
    right, wrong = right_and_wrong(step)
    assert right and wrong
    assert all(check(some(step.task), given) for given in right)
    assert not any(check(some(step.task), given) for given in wrong)


def test_who_takes_slower_for_faster_is_not_told_to_be_right() -> None:
    """A prediction of a ratio of speeds, or a share of one, has no right answer at the other side of 1."""
    ratios = [
        (task.answer / unit, task.tolerance / unit)
        for _, step in TASKS
        if (task := some(step.task)).kind == "predict" and re.search("faster|How fast", task.ask)
        for unit in (100 if task.unit == "%" else 1,)
    ]
    assert len(ratios) >= 3
    assert all(abs(answer - 1) > tolerance for answer, tolerance in ratios)


def test_a_set_task_counts_what_the_run_recorded_at_its_own_setting() -> None:
    """The recorded knob gives the recorded number of decisions of that state."""
    tasks = [(step, task) for _, step in TASKS if (task := some(step.task)).kind == "set"]
    assert tasks
    for step, task in tasks:
        trace = case(step.case).traces[some(task.lane)]
        own = trace.head.knobs[task.knob]
        if own < 0:  # the judge's own
            own = trace.rounds[0].extras["judge_threshold"]
        assert task.counts[0][0] <= own <= task.counts[-1][0]
        counted = [count for value, count in task.counts if value <= own + 1e-9][-1]
        assert counted == sum(node.state == task.state for event in trace.rounds for node in event.nodes)


def test_there_are_lessons_for_every_subject_and_they_are_short() -> None:
    assert len(LESSONS) >= 8 and len({lesson.order for lesson in LESSONS}) == len(LESSONS)
    for lesson in LESSONS:
        assert 3 <= len(lesson.steps) <= 9 and 3 <= lesson.minutes <= 8, lesson.name
        assert sum(step.task is not None for step in lesson.steps) >= 3, lesson.name
        words = sum(len(text.split()) for text in (lesson.text, *(step.text for step in lesson.steps)))
        assert 120 <= words <= 700, (lesson.name, words)


def test_every_kind_of_task_is_used() -> None:
    assert {some(step.task).kind for _, step in TASKS} == {"choice", "predict", "select", "set"}


def test_no_slot_is_left_and_all_is_json() -> None:
    text = json.dumps(lessons_json(THRESHOLDS), allow_nan=False, ensure_ascii=False)
    assert not re.search(r"\{\{[^\"{}]*\}\}", text)


def test_links_name_pages_cases_and_lessons() -> None:
    known = {f"lessons/{lesson.name}" for lesson in LESSONS}
    for lesson in LESSONS:
        for link in lesson.links:
            room, _, where = link.partition("/")
            if room == "methods":
                from engine.learn.pages import names

                assert where in names(), link
            elif room == "cases":
                assert case(where)
            else:
                assert link in known, link


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('lane = "sdd"', "lane of first_look 'sdd'.*sd"),
        ('room = "kitchen"', "room 'kitchen'"),
        ('view = "scores"', "view 'scores'.*score"),
        ('lain = "sd"', "setting of a step 'lain'.*lane"),
        ('case = "first"', "preset 'first'"),
        ('lane = "sd"\nat = { state = "refused" }', "state 'refused'"),
        ('lane = "sd"\nat = { state = "vetoed" }', "place 1 of 0"),
        ('lane = "sd"\nat = { h_target = "big" }', "no bound"),
        ('task = { kind = "riddle" }', "kind of task 'riddle'"),
        ('task = { kind = "predict", ask = "?" }', "needs 'metric'"),
        ('task = { kind = "predict", ask = "?", metric = "sd.calls" }', "number of sd 'calls'"),
        ('task = { kind = "predict", ask = "?", metric = "sd.accept_by_depth" }', "no single number"),
        ('task = { kind = "predict", ask = "?", metric = "sd.rounds sd.tokens" }', "no number"),
        ('task = { kind = "predict", ask = "?", metric = "1 + sd.rounds / ar.rounds" }', "no number"),
        ('task = { kind = "predict", ask = "?", metric = "sd.rounds / sd.vetoed" }', "divides by zero"),
        ('task = { kind = "predict", ask = "{{here.p}}", metric = "sd.rounds" }', "points at no token"),
        ('task = { kind = "select", ask = "?", lane = "sd", where = { state = "vetoed" } }', "for 0 tokens"),
        ('task = { kind = "choice", ask = "?", options = [{ text = "a" }, { text = "b" }] }', "option that is right"),
        (
            'task = { kind = "set", ask = "?", lane = "sd", knob = "gamma", range = [1, 9, 1], '
            'count = { state = "accepted" }, want = 99 }',
            "99 accepted is reached by none",
        ),
        (
            'case = "easd_helps"\ntask = { kind = "set", ask = "?", lane = "easd", knob = "tau_entropy", range = [0, 1, 0.5], '
            'count = { state = "vetoed" }, want = 1 }',
            "nothing to set",
        ),
        (
            'lane = "sd"\nat = { state = "rejected" }\n'
            'task = { kind = "select", ask = "?", lane = "sd", where = { state = "rejected" } }',
            "points at an answer",
        ),
        ('holds = ["sd.rounds > ar.rounds"]', "does not hold"),
        ('holds = ["sd.rounds"]', "no comparison"),
        ("lane = ", "not valid TOML"),
    ],
)
def test_a_bad_step_says_what_is_wrong_and_where(settings: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse("mine", GOOD.replace("{}", settings), THRESHOLDS)
    assert "mine, step 1 (One)" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## One\n", "TOML header"),
        (HEAD.replace("title", "titel") + "## One\n", "key of the header 'titel'.*title"),
        (HEAD.replace('case = "first_look"', "") + "## One\n", "needs 'case'"),
        (HEAD + "no steps\n", "steps"),
        (HEAD + "{{sd.rounds | zz}}\n## One\n", "no such format"),
    ],
)
def test_a_bad_file_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse("mine", text, THRESHOLDS)


def test_numbers_come_from_the_trace() -> None:
    """Slots, formats, two terms, and the place that a step points at."""
    body = "{{sd.rounds}} {{ar.rounds / sd.rounds | .1f}} {{sd.accept_rate_tested | .0%}} {{here.state}} {{here.q}}"
    lesson = parse(
        "mine",
        GOOD.replace("{}", 'lane = "sd"\nat = { state = "rejected", nth = 1 }').replace("Text.", body),
        THRESHOLDS,
    )
    recorded = case("first_look")
    sd, ar = recorded.traces[1].metrics(), recorded.traces[0].metrics()
    node = next(n for e in recorded.traces[1].rounds for n in e.nodes if n.state == "rejected")
    want = [
        sd["rounds"],
        f"{ar['rounds'] / sd['rounds']:.1f}",
        f"{100 * sd['accept_rate_tested']:.0f} %",
        "rejected",
        f"{node.q:.2f}",
    ]
    assert lesson.steps[0].text == " ".join(str(value) for value in want)
    assert some(lesson.steps[0].at).to_json() == {"lane": 1, "round": 0, "node": 0, "pos": 0}


def test_halves_are_rounded_as_the_page_rounds_them() -> None:
    """74 tokens in 16 calls are 4.625 a call; the lane beside the lesson says 4.63."""
    tau = case("first_look").traces[1].metrics()["tau"]
    assert (tau, f"{tau:.2f}") == (4.625, "4.62")
    body = "{{sd.tau | .2f}} {{sd.tau}} {{sd.tau / sd.rounds | .0%}} {{ar.tau | .0f}}"
    lesson = parse("mine", GOOD.replace("{}", "").replace("Text.", body), THRESHOLDS)
    assert lesson.steps[0].text == "4.63 4.63 29 % 1"


def test_the_second_choice_behind_the_veto_that_hurts_is_what_the_lesson_says() -> None:
    """A word, where the vetoed token is a digit: the number ends early."""
    trace = Trace.load(PRESETS / "traces" / "easd_hurts-2-easd.jsonl.gz")
    (at,) = [i for i, event in enumerate(trace.rounds) if any(node.state == "vetoed" for node in event.nodes)]
    (vetoed,) = [node.token for node in trace.rounds[at].nodes if node.state == "vetoed"]
    written = trace.rounds[at].tokens[-1]
    assert trace.pieces[vetoed].isdigit() and written.origin == "correction" and not written.piece.strip().isdigit()
    assert "another digit" not in (PRESETS / "lessons" / "entropy.md").read_text(encoding="utf-8")


def test_the_lesson_points_at_the_token_that_made_the_answer_wrong() -> None:
    """With the target's own choice in its place the target ends right; after it, and everywhere behind, wrong."""
    (lesson,) = [one for one in lessons(THRESHOLDS) if one.name == "judges"]
    (step,) = [one for one in lesson.steps if one.title == "A mistake"]
    (place,) = some(step.task).answer
    trace, lab = Trace.load(PRESETS / "traces" / "judge_mistake-2-autojudge.jsonl.gz"), Lab.load("tiny")
    node = trace.rounds[place.round].nodes[some(place.node)]
    before = [*trace.head.prompt_ids, *trace.token_ids[: place.pos]]
    ends = [
        lab.run("ar", [*before, token], max_new_tokens=80).text for token in (some(node.reason)["choice"], node.token)
    ]
    assert ["is 74." in end for end in ends] == [True, False]


def test_what_finding_drafts_takes_is_that_of_whole_drafts() -> None:
    """A draft of ten tokens is looked up at once: a tenth of what it takes would be no draft's."""
    (lesson,) = [one for one in lessons(THRESHOLDS) if one.name == "lookup"]
    rounds = Trace.load(PRESETS / "traces" / "copying-1-pld.jsonl.gz").rounds
    share = sum(event.draft_ms for event in rounds) / sum(event.verify_ms for event in rounds)
    (step,) = [one for one in lesson.steps if one.title == "Copying"]
    assert some(step.task).after.endswith(f" Finding drafts took {share:.3f} of the target's time.")


def test_what_lessons_say_of_their_runs_without_a_number_of_their_own_holds() -> None:
    """Prose beside the tasks, which no task checks: each claim against the recorded runs."""
    said = {path.stem: path.read_text(encoding="utf-8") for path in (PRESETS / "lessons").glob("*.md")}

    def told(lesson: str, words: str, name: str) -> Trace:
        assert words in said[lesson], f"{lesson} no longer says {words!r}"
        return Trace.load(PRESETS / "traces" / f"{name}.jsonl.gz")

    for lane in ("1", "2"):
        trace = told("confidence", "all but one of those tested in either lane", f"cm_modes-{lane}-cm_asd")
        seen = [some(node.confidence) for event in trace.rounds for node in event.nodes if node.state != "discarded"]
        assert sum(share <= 0.5 for share in seen) == 1
    chosen = told("draft_length", "those in which a token was rejected have one to three", "left_to_device-2-sd")
    assert {event.levels for event in chosen.rounds if event.accepted < event.levels} == {1, 2, 3}
    hot = told("draft_length", "A translation at a high temperature", "sd_loses-1-sd")
    hard = told("trees", "A translation at temperature 1.5", "tree_hard-1-eagle3")
    assert [one.head.extras["task"] for one in (hot, hard)] == ["sentences"] * 2
    assert [one.head.sampling["temperature"] for one in (hot, hard)] == [2.0, 1.5]
    binned = told("trees", "and where it is lowest it verifies fewer tokens", "tree_templated-2-heterospec")
    most = max(event.fed for event in told("trees", "EAGLE-3 verified", "tree_templated-1-eagle3").rounds)
    assert {event.extras["bin"] for event in binned.rounds if event.fed < most} == {0}
    assert all(event.levels > 8 for event in binned.rounds if event.extras["bin"] <= 2)
