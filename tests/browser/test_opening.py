"""Other models by folder: looked at, loaded beside the old ones and run; what is wrong leaves them."""

import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from transformers import MBartTokenizer

from app.opener import Pair, opener
from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from app.starting import load, why
from engine.errors import ConfigError
from engine.files.presets import list_presets
from engine.methods import CARDS
from tests.app.fakes import FakeLab, free_port
from tests.browser.waits import sees
from tests.engine.crossed import make_model as make_crossed
from tests.engine.zoo import make_model, save_tokenizer

pytestmark = pytest.mark.browser
MODELS = "draftscope.session.config.models"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models with different tokenizers: those of others where they are at hand, else made ones."""
    if others := os.environ.get("DRAFTSCOPE_TEST_MODELS"):
        return Path(others) / "TinyStories-656K", Path(others) / "stories260K-hf"
    root = tmp_path_factory.mktemp("pair")
    made = [make_model(root / name, seed=i, layers=2) for i, name in enumerate(("target", "draft"))]
    save_tokenizer(made[1], 60)
    return made[0], made[1]


@pytest.fixture(scope="module")
def opened() -> Iterator[str]:
    """A server of one's own, which loads what its visitor names."""
    service = Service(CARDS, {"tiny": FakeLab}, why, opener=opener(load, device="cpu", dtype="auto", threads="1"))
    port = free_port()
    catalogue = PresetCatalogue(list_presets(), CARDS, why, service.limits)
    demo = launch(service, catalogue, why, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield f"http://127.0.0.1:{port}/"
    demo.close()


class Slow:
    """Loads made-up models as soon as it may, and fails where a fault is set."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.fault = ""

    def load(self, _pair: Pair) -> FakeLab:
        assert self.may.wait(30)
        if self.fault:
            raise ConfigError(self.fault)
        return FakeLab()


@pytest.fixture
def slow() -> Iterator[tuple[str, Slow]]:
    """A server that loads when it may, and what tells it so."""
    made, ways = Slow(), opener(load, device="cpu", dtype="auto", threads="1")
    service = Service(CARDS, {"tiny": FakeLab}, why, opener=replace(ways, load=made.load))
    port = free_port()
    catalogue = PresetCatalogue(list_presets(), CARDS, why, service.limits)
    demo = launch(service, catalogue, why, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield f"http://127.0.0.1:{port}/", made
    made.may.set()
    demo.close()


def test_a_pair_is_looked_at_loaded_and_run_and_a_wrong_one_leaves_it(pages, opened, pair, tmp_path):
    page = pages.open(opened, viewport={"width": 1400, "height": 900})
    page.keyboard.press("e")
    page.get_by_role("button", name="Load models").click()
    dialog = page.get_by_role("dialog", name="Load other models")
    target, draft = dialog.get_by_label("Target"), dialog.get_by_label("Draft")
    check, begin, said = (
        dialog.get_by_role("button", name="Check"),
        dialog.get_by_role("button", name="Load"),
        dialog.get_by_role("status"),
    )
    expect(begin).to_be_disabled()

    target.fill(str(tmp_path / "nowhere"))
    check.click()
    expect(dialog.locator(".against")).to_contain_text("Neither a folder here")
    expect(begin).to_be_disabled()

    target.fill(str(pair[0]))
    expect(dialog.locator(".against")).to_have_count(0)
    draft.fill(str(pair[1]))
    draft.press("Enter")
    expect(said).to_contain_text("These models fit. Nothing is to be downloaded.")
    expect(dialog.locator(".sides li")).to_have_count(2)
    expect(dialog.locator(".findings")).to_contain_text("different tokenizers")
    expect(dialog.locator(".findings")).to_contain_text("memory:")
    expect(dialog.locator(".findings")).to_contain_text("methods cannot run")
    begin.click()
    name = f"{pair[0]} + {pair[1]}"
    expect(said).to_contain_text("is loaded and chosen", timeout=60_000)
    sees(page, MODELS, name)
    expect(page.get_by_label("Models", exact=True)).to_have_value(name)

    broken = tmp_path / "broken"
    shutil.copytree(pair[0], broken)
    weights = broken / "model.safetensors"
    target.fill(str(broken))
    draft.fill("")
    check.click()
    expect(said).to_contain_text("These models fit.")
    weights.write_bytes(bytes(weights.stat().st_size))  # between the look and the load
    begin.click()
    expect(said).to_contain_text("is not a complete model", timeout=60_000)
    expect(said).to_contain_text("The models before are still there.")
    sees(page, MODELS, name)

    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.evaluate(
        "draftscope.session.configure({prompt: 'Once upon a time', preset: '', max_new_tokens: 24, temperature: 0,"
        " lanes: [{method: 'ar', knobs: {}}, {method: 'sd', knobs: {}}]})"
    )
    page.get_by_role("button", name="Run", exact=True).click()
    lane = page.locator(".lane[data-lane=sd]")
    expect(lane.locator(".state")).to_have_text("token limit", timeout=60_000)
    expect(lane.locator(".remarks")).to_contain_text("Another tokenizer drafts")
    expect(page.locator(".lane[data-lane=ar] .remarks")).to_be_hidden()
    texts = "['ar', 'sd'].map((key) => draftscope.store.runs.get(key).tokens.map((token) => token.token).join())"
    assert page.evaluate(f"(([a, b]) => a === b && a.split(',').length === 24)({texts})")


def test_a_model_of_several_languages_is_asked_which_and_its_source_lights_up(pages, opened, tmp_path):
    """mBART: the loader offers the codes; the picker names its family; a token under the pointer lights its words."""
    letters = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", *"abcdefghijklmnopqrstuvwxyz"]
    words = MBartTokenizer(vocab=[(letter, -1.0) for letter in letters])
    folder = make_crossed(tmp_path / "mbart", "mbart", layers=1, vocab=len(words))
    words.save_pretrained(folder)
    page = pages.open(opened, viewport={"width": 1400, "height": 900})
    expect(page.locator(".sourceline")).to_be_hidden()
    page.keyboard.press("e")
    page.get_by_role("button", name="Load models").click()
    dialog = page.get_by_role("dialog", name="Load other models")
    source, written = dialog.get_by_label("Language of the source"), dialog.get_by_label("Language that is written")
    expect(source).to_be_hidden()
    dialog.get_by_label("Target").fill(str(folder))
    dialog.get_by_role("button", name="Check").click()
    expect(dialog.locator(".against")).to_contain_text("say from which to which")
    source.select_option("en_XX")
    written.select_option("de_DE")
    expect(dialog.get_by_role("status")).to_contain_text("These models fit.")
    dialog.get_by_role("button", name="Load").click()
    expect(dialog.get_by_role("status")).to_contain_text("is loaded and chosen", timeout=60_000)
    page.keyboard.press("Escape")
    name = f"{folder} (en_XX:de_DE)"
    expect(page.get_by_label("Models", exact=True).locator("optgroup[label^=Encoder]")).to_contain_text(name)

    page.evaluate(
        "draftscope.session.configure({prompt: 'a bad cab', preset: '', max_new_tokens: 6, temperature: 0,"
        " lanes: [{method: 'ar', knobs: {}}]})"
    )
    page.get_by_role("button", name="Run", exact=True).click()
    line = page.locator(".sourceline")
    expect(line).to_contain_text("a bad cab")
    expect(line.locator(".sourcesaid")).to_contain_text("Point at a token")
    page.locator(".lane .flow .k").first.hover()
    expect(line.locator(".sourcesaid")).to_contain_text("looked at")
    expect(line.locator(".sourceword.lit")).not_to_have_count(0)
    page.mouse.move(2, 2)
    expect(line.locator(".sourceword.lit")).to_have_count(0)


def loading(pages, address, pair):
    """A page that loads the pair, with its open dialog."""
    page = pages.open(address, viewport={"width": 1400, "height": 900})
    page.keyboard.press("e")
    page.get_by_role("button", name="Load models").click()
    dialog = page.get_by_role("dialog", name="Load other models")
    dialog.get_by_label("Target").fill(str(pair[0]))
    dialog.get_by_role("button", name="Check").click()
    dialog.get_by_role("button", name="Load").click()
    return page, dialog


@pytest.mark.parametrize("fault", ["", "The weights are damaged."])
def test_who_closes_the_dialog_hears_how_the_loading_ended(pages, slow, pair, fault):
    """Else settings change, or stay, without a word."""
    address, made = slow
    made.fault = fault
    page, dialog = loading(pages, address, pair)
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    made.may.set()
    told = f"{fault} The models before are still there." if fault else f"{pair[0]} is loaded and chosen."
    expect(page.locator(".notice")).to_contain_text(told)


def test_models_whose_methods_do_not_come_are_told_to_be_there(pages, slow, pair):
    address, made = slow
    page, dialog = loading(pages, address, pair)
    page.route("**/lab/catalogue?*", lambda route: route.fulfill(status=400, json={"error": "Busy."}))
    made.may.set()
    told = f"{pair[0]} is loaded, but its methods did not come. Busy. Reload this page to use it."
    expect(dialog.get_by_role("status")).to_contain_text(told)


def test_a_dialog_that_is_opened_again_while_models_load_offers_to_cancel_and_then_to_load(pages, slow, pair):
    address, _made = slow
    page, dialog = loading(pages, address, pair)
    begin, cancel = dialog.get_by_role("button", name="Load"), dialog.get_by_role("button", name="Cancel")
    expect(cancel).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")  # on the button that opened it
    expect(cancel).to_be_focused()
    expect(begin).to_be_disabled()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("Cancelled.")
    expect(dialog.locator(".sides li")).to_have_count(1)
    expect(begin).to_be_enabled()


def test_a_public_page_says_why_it_loads_none(visit):
    page = visit()
    page.keyboard.press("e")
    page.get_by_role("button", name="Load models").click()
    dialog = page.get_by_role("dialog", name="Load other models")
    expect(dialog).to_contain_text("without --public")
    expect(dialog.get_by_role("button")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
