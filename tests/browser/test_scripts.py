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


def test_the_words_of_a_node_stay_inside_its_ring(visit: Any) -> None:
    page = visit()
    page.evaluate("""() => {
      const { store } = draftscope, pen = document.createElement("canvas").getContext("2d");
      const wide = (text) => pen.measureText(text).width; // a mark that no font has here is a box of its own
      const made = ["\\u673a\\u5668\\u5b66\\u4e60", "\\u0e19\\u0e49\\u0e33", "\\uc548\\ub155"].filter(
        (one) => wide(one) < wide(one.replace(/\\p{M}/gu, "")) + 1);
      for (const run of store.runs.values())
        [...run.pieces.keys()].forEach((id, at) => run.pieces.set(id, made[at % made.length]));
      store.setCursor({ run: "bush", round: 1 });
    }""")
    page.keyboard.press("3")
    page.locator("[data-tree=bush] [data-node='0'] .v-ring").wait_for()
    over = page.evaluate("""() => [...document.querySelectorAll("[data-tree] [data-node]:has(.v-ring)")].map((node) => {
      const right = (selector) => node.querySelector(selector).getBoundingClientRect().right;
      return right("text") - right(".v-ring");
    })""")
    assert over and max(over) < 0, over


def test_a_word_whose_letters_carry_marks_is_not_cut_for_them(visit: Any) -> None:
    page = visit()
    page.evaluate("""() => {
      const { store } = draftscope;
      for (const run of store.runs.values())
        for (const id of run.pieces.keys()) run.pieces.set(id, "\\u05e9\\u05c1\\u05b8\\u05dc\\u05d5\\u05b9\\u05dd");
      store.setCursor({ run: "bush", round: 1 });
    }""")
    page.keyboard.press("3")
    node = page.locator("[data-tree=bush] [data-node='0'] text")
    node.wait_for()
    assert "\u2026" not in str(node.text_content())


SAVED = """async (made) => {
  const { pictureOf } = await import(new URL("./lab-static/picture.js", location.href));
  const line = document.createElement("p");
  line.style.cssText = "width:300px;unicode-bidi:plaintext;text-align:start";
  line.innerHTML = made;
  document.querySelector(".lab").append(line);
  const { left } = line.getBoundingClientRect();
  const range = document.createRange();
  const edges = [...line.childNodes].map((one) => {
    range.selectNodeContents(one);
    const box = range.getBoundingClientRect();
    return [box.left - left, box.right - left];
  });
  document.body.innerHTML = pictureOf(line, "");
  const sheet = document.querySelector("svg").getBoundingClientRect().left + 16; // its margin
  const saved = [...document.querySelectorAll("svg text")].map((one) => {
    const box = one.getBoundingClientRect();
    return [box.left - sheet, box.right - sheet];
  });
  return [edges, saved];
}"""


@pytest.mark.parametrize(
    "made",
    [
        "<b>\u05e9\u05dc\u05d5\u05dd</b><b> \u05e2\u05d5\u05dc\u05dd</b><i> 40</i>",
        "<b>one</b><b> two</b>",
        "<b>\u0645\u0631\u062d\u0628\u0627</b><b> \U0001f600</b><i>.</i>",
    ],
)
def test_a_saved_picture_has_words_where_the_page_has_them(visit: Any, made: str) -> None:
    edges, saved = visit().evaluate(SAVED, made)
    assert len(saved) == len(edges)
    for there, here in zip(edges, saved, strict=True):
        assert here == pytest.approx(there, abs=2)
