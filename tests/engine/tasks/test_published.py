"""Published sets from rows of the published shape (made up here; none is shipped)."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.errors import ConfigError
from engine.tasks import gsm8k, humaneval, mbpp, qmsum, wmt
from engine.tasks.marking import TASKS, marking
from engine.tasks.numbers import same_number
from engine.tasks.permission import code_may_run
from engine.tasks.published import load_published
from engine.tasks.sandbox import run_python

WORD = {"question": "Ann has 3 bags of 4 figs. How many?", "answer": "She has 3 * 4 = <<3*4=12>>12 figs.\n#### 12"}
CODE = {
    "task_id": "T/0",
    "entry_point": "twice",
    "prompt": 'import math\n\n\ndef twice(x: int) -> int:\n    """Double x."""\n',
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(3) == 6\n    assert candidate(-1) == -2\n",
}
SHORT = {
    "task_id": 7,
    "text": "Write a function to add one.",
    "code": "def inc(x):\r\n    return x + 1",
    "test_list": ["assert inc(1) == 2"],
}


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("1.5", "3/2", True),
        ("1,000", "$1000.", True),
        (r"\frac{1}{2}", "0.5", True),
        ("2x+1", "1+2x", True),
        ("x^2", "x^3", False),
        ("9^9^9^9", "1", False),
        ("99999999!", "1", False),
        ("5%", "5", True),
        ("1/0", "3", False),
        (None, "3", False),
        ("07", "7", True),
        ("9" * 5000, "7", False),
    ],
)
def test_numbers_compare_as_numbers(a: str | None, b: str, same: bool) -> None:
    assert same_number(a, b) is same and same_number(b, a) is same


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The final answer is 18.", "18"),
        ("Hence the final answer is $1,200.", "1200"),
        ("The final answer is 3/2", "3/2"),
        ("The final answer is 5. No. The final answer is 7.50", "7.50"),
        ("The final answer is -4 dogs.", "-4"),
        (r"The final answer is \frac{1}{2}.", r"\frac{1}{2}"),
        ("The final answer is **18**.", "18"),
        ("**The final answer is: 18**", "18"),
        ("**The final answer is:** $1,200.", "1200"),
        ("The final answer is **$18** a day.", "18"),
        (r"The final answer is **\frac{1}{2}**.", r"\frac{1}{2}"),
        ("The final answer is $18/hour.", "18"),
        ("The final answer is 3.5/2", "3.5/2"),
        ("The final answer is 1,000 / 5.", "1000 / 5"),
        ("It is 18", None),
        ("The final answer is 3\nQ: The final answer is 9", "3"),
    ],
)
def test_final_answers_are_found_in_the_response(text: str, answer: str | None) -> None:
    assert gsm8k.extract(text) == answer


def test_word_problems() -> None:
    problem = gsm8k.problem(WORD)
    assert problem.answer == "12" and problem.solution == "She has 3 * 4 = 12 figs. The final answer is 12"
    assert gsm8k.score(problem, problem.solution) == 1.0 and gsm8k.score(problem, "The final answer is 12.0") == 1.0
    assert gsm8k.score(problem, "The final answer is 13") == 0.0
    assert gsm8k.extract("I do not know") is None  # never the example's answer: the prompt is not searched (A11)


def test_completions_are_run_with_their_tests() -> None:
    problem = humaneval.problem(CODE)
    assert humaneval.score(problem, problem.solution) == 1.0
    assert humaneval.score(problem, problem.solution + "\nprint('more')\ndef twice(x):\n    return 0\n") == 1.0
    assert humaneval.score(problem, "Sure:\n```python\ndef twice(x):\n    return x + x\n```\n") == 1.0
    assert humaneval.score(problem, "    return 3 * x\n") == 0.0 and humaneval.score(problem, "  ") == 0.0
    assert humaneval.report(problem, "    return 3 * x\n")[0] != humaneval.report(problem, problem.solution)[0]
    with pytest.raises(ConfigError, match="no function name"):
        humaneval.problem(CODE | {"entry_point": "f); import os; g("})


@pytest.mark.parametrize(
    "text",
    [
        "    return x + x\n```\n",  # the fence that ends a prompt which stood in one
        "    return x + x\n```",
        "    return x + x\n```\n\nThis doubles x.\n",
        "```Python\ndef twice(x):\n    return x + x\n```\nDone.\n",
        "Sure:\n\n```python3\ndef twice(x):\n    return x + x\n```\nDone.\n",
        " Either ```x + x``` or this:\n```\ndef twice(x):\n    return x + x\n```\n",
        "import math\nfrom typing import Any\n\n\ndef twice(x):\n    return x + x\n\n\ndef other(x):\n    return 1 / 0\n",
    ],
)
def test_code_is_found_beside_fences_of_any_kind(text: str) -> None:
    assert humaneval.score(humaneval.problem(CODE), text) == 1.0


HELPED = "def add(a, b):\n    return a + b\n\n\ndef twice(x):\n    return add(x, x)\n"


@pytest.mark.parametrize(
    "begins", ["", "\n\n", "import math\n\n\n", "# Adds.\n", "UNUSED = 3\n\n", "@print\nclass A: ...\n\n"]
)
def test_a_program_without_a_fence_may_have_functions_before_the_one_that_is_asked_for(begins: str) -> None:
    """What stood behind the first of them had been cut off, and the answer counted as wrong."""
    problem = humaneval.problem(CODE)
    assert humaneval.score(problem, begins + HELPED) == 1.0
    assert humaneval.score(problem, begins + HELPED + "\n\ndef more(x):\n    return (") == 1.0, "and no more"
    assert humaneval.score(problem, begins + HELPED.replace("a + b", "a - b")) == 0.0
    assert humaneval.score(problem, "    return x + x\n\n\n" + HELPED.replace("a + b", "a - b")) == 1.0, "a body first"
    assert humaneval.score(problem, "# Sum.\n    return x + x\n\n\ndef twice(x):\n    return 0\n") == 1.0


def test_a_fence_that_holds_nothing_is_no_code() -> None:
    assert humaneval.extract("```python\n```\n") is None and mbpp.extract("Sure:\n```python\n\n```") is None


@pytest.mark.parametrize(
    "text",
    [
        "def add(x, y):\n    return x + y\n\ndef inc(x):\n    return add(x, 1)\n```\n[DONE]",
        "[BEGIN]\ndef inc(x):\n    return x + 1\n```\nThis adds one.\n",
        "```Python\ndef inc(x):\n    return x + 1\n```\nDone.",
    ],
)
def test_short_programs_are_found_beside_fences_of_any_kind(text: str) -> None:
    assert mbpp.score(mbpp.problem(SHORT), text) == 1.0


def test_short_programs() -> None:
    problem = mbpp.problem(SHORT)
    assert "assert inc(1) == 2" in problem.prompt and problem.prompt.endswith("[BEGIN]\n")
    assert mbpp.score(problem, problem.solution) == 1.0
    assert mbpp.score(problem, "```python\ndef inc(x):\n    return x + 1\n```") == 1.0
    assert mbpp.score(problem, "def inc(x):\n    return x\n[DONE]") == 0.0


def test_rows_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(WORD) + "\n" for _ in range(3)))
    assert len(load_published("gsm8k", str(path))) == 3 and len(load_published("gsm8k", str(path), 2)) == 2
    with pytest.raises(ConfigError, match="field 'text'"):
        load_published("mbpp", str(path))
    path.write_text("not json\n")
    with pytest.raises(ConfigError, match="line 1 is not JSON"):
        load_published("gsm8k", str(path))
    with pytest.raises(ConfigError, match="no file"):
        load_published("gsm8k", str(tmp_path / "none.jsonl"))
    with pytest.raises(ConfigError, match=r"is a folder: name a file in it\. Give a JSON-lines file"):
        load_published("gsm8k", str(tmp_path))
    with pytest.raises(ConfigError, match="gsm8k"):
        load_published("gsm8", str(path))


def test_a_data_set_that_fails_without_a_word_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=fails))
    with pytest.raises(ConfigError, match=r"The data set gsm8k:main cannot be loaded: TimeoutError"):
        load_published("gsm8k", "datasets:gsm8k:main")


@pytest.mark.parametrize(
    ("family", "row", "words"),
    [
        ("gsm8k", WORD | {"question": None}, "field 'question'; this row has null there"),
        ("gsm8k", WORD | {"answer": ["12"]}, "is text"),
        ("gsm8k", {"question": "?"}, "field 'answer'; this row has question"),
        ("mbpp", SHORT | {"test_list": "assert inc(1) == 2"}, "list of texts"),
        ("mbpp", SHORT | {"test_list": [None]}, "list of texts"),
        ("mbpp", SHORT | {"test_list": None}, "null there"),
        ("mbpp", SHORT | {"text": None}, "null there"),
        ("humaneval", CODE | {"prompt": None}, "null there"),
        ("humaneval", CODE | {"entry_point": "f()"}, "no function name"),
        ("humaneval", CODE | {"test": {}}, "is text"),
        ("gsm8k", [WORD], "no JSON object"),
    ],
)
def test_rows_that_are_no_problem_are_named(tmp_path: Path, family: str, row: object, words: str) -> None:
    path = tmp_path / "rows.jsonl"
    good = {"gsm8k": WORD, "mbpp": SHORT, "humaneval": CODE}[family]
    path.write_text(f"{json.dumps(good)}\n\n{json.dumps(row)}\n")
    with pytest.raises(ConfigError, match=f"line 3.*{re.escape(words)}"):
        load_published(family, str(path))


def test_files_of_rows_as_editors_write_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = json.dumps(WORD | {"question": "a\u2028b\x85c?"}, ensure_ascii=False)
    path.write_bytes(b"\xef\xbb\xbf" + f"{row}\r\n\n  \n{row}".encode())
    assert [p.key for p in load_published("gsm8k", str(path))] == ["a\u2028b\x85c?"] * 2
    path.write_bytes(f"{row}\n".encode() + '{"question": "é"}'.encode("latin-1"))
    with pytest.raises(ConfigError, match="line 2 is not JSON in UTF-8"):
        load_published("gsm8k", str(path))


def test_code_runs_on_a_public_space_only_when_its_owner_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    monkeypatch.delenv("DRAFTSCOPE_RUN_CODE", raising=False)
    assert code_may_run()
    monkeypatch.setenv("SPACE_ID", "someone/lab")
    assert not code_may_run()
    with pytest.raises(ConfigError, match="DRAFTSCOPE_RUN_CODE=1"):
        run_python("x = 1")
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", "1")
    assert run_python("x = 1").passed


def test_worked_examples_go_before_the_question_and_are_not_asked(tmp_path: Path) -> None:
    rows, more = tmp_path / "rows.jsonl", tmp_path / "more.jsonl"
    rows.write_text("".join(json.dumps(WORD | {"question": f"Question {i}?"}) + "\n" for i in range(5)))
    more.write_text("".join(json.dumps(WORD | {"question": f"Example {i}?"}) + "\n" for i in range(2)))
    plain = load_published("gsm8k", str(rows))
    shot = load_published("gsm8k", str(rows), 2, 2)
    assert [p.key for p in shot] == ["Question 2?", "Question 3?"]
    assert shot[0].prompt == "".join(f"{p.prompt}{p.solution}\n\n" for p in plain[:2]) + plain[2].prompt
    other = load_published("gsm8k", str(rows), 2, 2, str(more))
    assert [p.key for p in other] == ["Question 0?", "Question 1?"] and other[0].prompt.count("Example") == 2
    with pytest.raises(ConfigError, match="2 rows, and 8 worked"):
        load_published("gsm8k", str(rows), 1, 8, str(more))
    with pytest.raises(ConfigError, match="no problem behind its 5"):
        load_published("gsm8k", str(rows), 1, 5)
    with pytest.raises(ConfigError, match="mbpp takes no worked examples; these sets do: gsm8k"):
        load_published("mbpp", str(rows), 1, 1)


def test_summaries_and_translations() -> None:
    meeting = qmsum.problem({"id": "m1", "query": "Why?", "source": "Ann: so.", "summary": "Because Ann says so."})
    assert meeting.prompt.startswith("Ann: so.") and meeting.prompt.endswith("Summary:") and meeting.key == "m1"
    assert qmsum.extract("\n\n One. \n\nTwo.") == "One." and qmsum.extract(" \n") is None
    hub = wmt.problem({"translation": {"en": "Yes.", "de": "Ja."}})
    assert (
        hub == wmt.problem({"source": "Yes.", "reference": "Ja."})
        and hub.answer == "Ja."
        and "English: Yes." in hub.prompt
    )
    assert wmt.extract("\n Ja.\nNein.") == "Ja." and wmt.score(hub, " Ja.") == 1
    with pytest.raises(ConfigError, match=r"with en and de, not 'Ja\.'"):
        wmt.problem({"translation": "Ja."})
    with pytest.raises(ConfigError, match=r"needs the field 'de'; this row has en, fr\."):  # as the file calls it
        wmt.problem({"translation": {"en": "Yes.", "fr": "Oui."}})
    with pytest.raises(ConfigError, match=r"needs the field 'reference'"):
        wmt.problem({"source": "Yes."})


@pytest.mark.parametrize("task", TASKS)
def test_every_task_says_what_it_is_measured_by(task: str) -> None:
    mark = marking(task)
    assert mark.measures and set(mark.measures) <= {"accuracy", "translation", "summary"}
    assert ("summary" in mark.measures) == (task in ("qmsum", "summaries")) and ("translation" in mark.measures) == (
        task in ("sentences", "translation", "wmt_en_de")
    )


def test_programs_are_marked_by_their_tests_unless_code_may_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, mark = humaneval.problem(CODE), marking("humaneval")
    assert mark.right(problem, problem.solution) is True and mark.right(problem, "    return 3 * x\n") is False
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", "0")
    assert mark.right(problem, problem.solution) is None
    words = gsm8k.problem(WORD)
    assert (
        marking("gsm8k").right(words, "The final answer is 12") is True
        and marking("gsm8k").right(words, "12?") is False
    )
    with pytest.raises(ConfigError, match="arithmetic"):
        marking("arithmetics")
