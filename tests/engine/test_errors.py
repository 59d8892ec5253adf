"""Errors are sentences: what was given, the nearest right name, and all that are allowed."""

import pytest

from engine import errors


def test_the_nearest_name_is_offered_and_all_are_listed() -> None:
    assert (
        errors.unknown("method", "esd", ["sd", "easd", "ar"])
        == "Unknown method 'esd'. Did you mean 'easd'? Known: ar, easd, sd."
    )
    assert errors.unknown("method", "zzzz", ["sd", "ar"]) == "Unknown method 'zzzz'. Known: ar, sd."
    assert errors.unknown("method", "SD", ["sd", "ar"]) == "Unknown method 'SD'. Did you mean 'sd'? Known: ar, sd."
    assert "Did you mean 'Second'?" in errors.unknown("part", "second", ["Second", "Echo"])
    assert errors.unknown("asset", 7, []) == "Unknown asset 7. Known: none."


@pytest.mark.parametrize("name", ["ConfigError", "ModelMismatch", "AssetError", "TraceError", "EngineFault"])
def test_every_error_of_a_user_is_one_family(name: str) -> None:
    assert issubclass(getattr(errors, name), errors.LabError)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such dtype\nmore of it"), "no such dtype"),
        (
            ValueError("Validation error for field 'x':\n    TypeError: it is None\nmore"),
            "Validation error for field 'x': TypeError: it is None",
        ),
        (ValueError("nothing behind this:\n \n"), "nothing behind this:"),
        (RuntimeError(""), "RuntimeError"),
        (TimeoutError(), "TimeoutError"),
        (KeyError("su"), "KeyError: 'su'"),
        (ValueError("x" * 999), "x" * 300),
    ],
)
def test_what_others_say_in_one_line(error: Exception, said: str) -> None:
    assert errors.first_line(error) == said
