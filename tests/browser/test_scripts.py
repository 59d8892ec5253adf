"""Texts that are written from right to left: tokens, numbers and paragraphs stand where they belong."""

from typing import Any

import pytest

pytestmark = pytest.mark.browser
EDGES = """([home, made]) => {
  const line = document.createElement("p");
  line.className = "stretch";
  line.innerHTML = made;
  document.querySelector(home).append(line);
  const found = [...line.children].map((one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right]);
  line.remove();
  return found;
}"""


def test_a_number_stays_behind_the_token_that_it_is_of(visit: Any) -> None:
    code, number = visit().evaluate(EDGES, [".lab", "<code>\u00b7\u05e9\u05dc\u05d5\u05dd</code><b> 0.40</b>"])
    assert number[0] >= code[1] - 1


def test_a_lane_begins_where_its_text_begins(visit: Any) -> None:
    first, stop = visit().evaluate(EDGES, [".flow", "<b>\u0645\u0631\u062d\u0628\u0627</b><i>.</i>"])
    assert stop[1] <= first[0] + 1, "a full stop ends the sentence"
