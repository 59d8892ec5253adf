import math

import pytest

from engine.analysis.words import count, mean, number, percent, quoted, setting


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.41, "0.41"),
        (0.4149, "0.41"),
        (2.314, "2.31"),
        (0.034, "0.034"),
        (0.03, "0.03"),
        (0.0012, "0.0012"),
        (0.0, "0"),
        (1.0, "1.00"),
        (0.996, "0.996"),
        (0.99996, "0.99996"),
        (0.99999999, "over 0.999999"),
        (3e-7, "under 0.0001"),
        (math.inf, "infinite"),
        (math.nan, "unknown"),
        (None, "unknown"),
        (12.5, "12.50"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


def test_compared_numbers_never_read_the_same() -> None:
    assert (number(0.2912, 0.2919), number(0.2919, 0.2912)) == ("0.291", "0.292")
    assert number(2.0004, 2.0) == "2.0004"
    assert number(1.9996, 2.0) == "1.9996"
    assert number(0.29, 0.29) == "0.29"
    assert number(0.0996, 0.1) == "0.0996"
    assert number(2e-5, 1e-5) == "2.0e-05"
    assert number(0.5, None, math.inf) == "0.50"


@pytest.mark.parametrize(
    ("value", "text"), [(2, "2.0"), (2.0, "2.0"), (0.12, "0.12"), (0.125, "0.125"), (math.inf, "infinite")]
)
def test_setting(value: float, text: str) -> None:
    assert setting(value) == text


def test_pieces_are_quoted_with_visible_blanks() -> None:
    pieces = {1: " has", 2: "\n", 3: "", 4: "a`b", 5: "x" * 50, 6: "\u200b", 7: "\t\u00a0"}
    shown = [quoted(i, pieces) for i in range(1, 9)]
    assert shown[:4] == ["`·has`", "`↵`", "`` (token 3)", "`aˋb`"]
    assert shown[4] == "`" + "x" * 40 + "…`"
    assert shown[5:] == ["`\\u200b`", "`→⍽`", "`#8`"]


def test_a_mean_has_no_needless_zeros() -> None:
    assert [mean(59.0), mean(3.4), mean(2.254), mean(100)] == ["59", "3.4", "2.25", "100"]


def test_count() -> None:
    assert [count(1, "round"), count(2, "round"), count(0, "token")] == ["1 round", "2 rounds", "0 tokens"]


def test_numbers_at_the_ends_of_what_can_be_read() -> None:
    assert (number(math.inf), number(-math.inf), number(math.nan)) == ("infinite", "minus infinite", "unknown")
    assert number(0.5, math.inf, None, math.nan) == "0.50", "what is no number is not compared with"
    assert (number(1e-4), number(0.99e-4), number(-1e-5)) == ("0.0001", "under 0.0001", "under 0.0001")
    assert (number(5e-5, 0.0009), number(5e-5, 0.001)) == ("5.0e-05", "under 0.0001")
    assert (number(0.9999999), number(1.0), number(0.999)) == ("over 0.999999", "1.00", "0.999")
    assert number(1.0, 1.0000001) == "1.000000" and number(2.0, 2.0000001) == "2.000000"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.042, "4.2 %"),
        (0.0994, "9.9 %"),
        (0.0999, "10 %"),
        (0.1, "10 %"),
        (0.42, "42 %"),
        (0.994, "99 %"),
        (0.998, "99.8 %"),
        (0.9996, ">99.9 %"),
        (1, "100 %"),
        (-0.05, "-5 %"),
    ],
)
def test_small_shares_have_a_decimal_and_those_that_are_nearly_all(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_piece_is_cut_behind_forty_characters() -> None:
    assert quoted(0, {0: "a" * 40}) == f"`{'a' * 40}`" and quoted(0, {0: "a" * 41}) == f"`{'a' * 40}…`"
    assert (setting(None), setting(math.inf), setting(1e-7), setting(3)) == ("unknown", "infinite", "1e-07", "3.0")
