"""Measured forecasts: what they count, where they are used, and that the embedded pair's are what their command says."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from engine.analysis.calibration import placed_trials
from engine.cli import main
from engine.costs import Costs, Curve
from engine.costs.chains import MOST_CHAIN, ChainChoice
from engine.errors import ConfigError, TraceError
from engine.files.presets import get_preset, list_presets, read_preset
from engine.forecast import ALIKE, EDGES, MIDDLES, NEAR, TRUST, Forecast, bin_of, forecast
from engine.lab import Lab
from engine.methods import get_card
from engine.runs import costs as measuring
from engine.runs import loading
from engine.runs.loading import wanted
from engine.trace.store import Trace
from engine.tune.forecast import can_forecast, measured
from tests.engine.drafters.test_tree_distributions import toy_with_heads
from tests.engine.toy import toy_lab
from tests.engine.zoo import Zoo

CHEAP = Costs(Curve(((1, 2.0), (2, 2.1), (64, 6.0))), start=0.05, step=0.1, other=0.1)
NEVER, ALWAYS = Forecast((0.01,) * len(MIDDLES)), Forecast((0.99,) * len(MIDDLES))


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_measured", lambda *_: CHEAP)


def with_forecast(found: Forecast) -> Lab:
    lab = toy_lab()
    lab.forecasts = {"model": found}
    return lab


def said(found: Forecast, share: float, before: int = 0) -> float:
    """What a forecast says of a token of which a drafter is so sure, behind so many."""
    return found.chances(before)[bin_of(share)]


def test_bins_hold_their_lower_edge_and_middles_lie_within() -> None:
    assert [bin_of(edge) for edge in EDGES] == list(range(1, len(EDGES) + 1)) and bin_of(0.0) == 0
    assert [bin_of(middle) for middle in MIDDLES] == list(range(len(MIDDLES)))


def test_a_share_is_counted_beside_one_test_that_came_out_as_trusted() -> None:
    found = forecast([(0.3, False, 0), (0.4, False, 1), (0.4, True, 2), (0.9999, True, NEAR - 1)])
    assert said(found, 0.26) == pytest.approx((1 + MIDDLES[2] ** TRUST) / 4, abs=1e-3)
    assert said(found, 1.0) == pytest.approx(1.0, abs=1e-3)
    assert said(found, 0.05) == pytest.approx(MIDDLES[0] ** TRUST, abs=1e-3)  # nothing was tested there


def test_tokens_behind_the_first_of_a_draft_have_shares_of_their_own_that_begin_with_the_whole_one() -> None:
    known = [(0.3, False, 0)] * 6 + [(0.3, True, NEAR - 1)] * 2 + [(0.3, True, NEAR)] * 8
    found, whole = forecast(known), (10 + MIDDLES[2] ** TRUST) / 17
    assert said(found, 0.3, 0) == said(found, 0.3, NEAR - 1) == pytest.approx((2 + ALIKE * whole) / 12, abs=1e-3)
    assert said(found, 0.3, NEAR) == said(found, 0.3, 99) == pytest.approx((8 + ALIKE * whole) / 12, abs=1e-3)
    assert said(found, 0.6, 0) == said(found, 0.6, NEAR) == pytest.approx(MIDDLES[3] ** TRUST, abs=1e-3)
    assert [held for _, held in found.further_bins()] == list(found.further) != [held for _, held in found.bins()]
    near = forecast(known[:8])  # no draft was tested any further
    assert near.further == () == tuple(near.further_bins()) and said(near, 0.3, NEAR) == said(near, 0.3)


def test_a_draft_ends_where_the_forecast_of_its_place_says_so() -> None:
    near, far = Forecast(ALWAYS.held, further=NEVER.held), Forecast(NEVER.held, further=ALWAYS.held)
    assert length(ChainChoice(CHEAP, near)) == NEAR and length(ChainChoice(CHEAP, far)) == 1


def length(choice: ChainChoice) -> int:
    """Of the next draft, of a drafter that is 60 % sure of each token."""
    drafted = 0
    choice.limit(stepwise=True)
    while drafted < 20 and choice.more(drafted, 0.6):
        drafted += 1
    return drafted


def test_a_first_draft_goes_by_the_forecast_and_later_ones_by_what_came() -> None:
    assert (
        length(ChainChoice(CHEAP, NEVER)) == 1 < length(ChainChoice(CHEAP)) < length(ChainChoice(CHEAP, ALWAYS)) == 20
    )
    choice, lengths = ChainChoice(CHEAP, NEVER), list[int]()
    for _ in range(6):
        lengths.append(length(choice))
        choice.observe(lengths[-1], lengths[-1])
    assert lengths[0] == 1 and lengths[-1] > 5, "a wrong forecast is forgotten"


def test_it_serves_greedy_exact_runs_of_its_drafter_and_is_recorded(cheap: None) -> None:
    lab, plain = with_forecast(NEVER), toy_lab()
    want = plain.run("ar", "abcab", max_new_tokens=30).token_ids
    trace = lab.run("sd", "abcab", max_new_tokens=30, gamma="auto")
    assert trace.token_ids == want and trace.head.extras["forecast"] == NEVER.bins()
    assert trace.rounds[0].drafted == 1 < plain.run("sd", "abcab", max_new_tokens=30, gamma="auto").rounds[0].drafted
    others = (
        lab.run("sd", "abcab", max_new_tokens=8),
        lab.run("sd", "abcab", max_new_tokens=8, gamma="auto", temperature=1.0),
        lab.run("easd", "abcab", max_new_tokens=8, gamma="auto"),
        lab.run("pld", "abcab", max_new_tokens=8, gamma="auto"),
        plain.run("sd", "abcab", max_new_tokens=8, gamma="auto"),
    )
    assert all("forecast" not in other.head.extras for other in others)


def test_a_method_that_lives_on_goes_by_what_holds_for_each_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = replace(CHEAP, step=0.2)
    monkeypatch.setattr(measuring, "_measured", lambda *given: CHEAP if given[-1].sampling.greedy else drawn)
    lab = with_forecast(NEVER)
    living = lab.living("sd", gamma="auto")
    choice = living.shape.choice
    for temperature, costs, found in ((0.0, CHEAP, NEVER), (1.0, drawn, None), (0.0, CHEAP, NEVER)):
        trace = lab.run("sd", "abcab", max_new_tokens=8, temperature=temperature, reuse=living)
        assert (choice.costs, choice.pace.costs, choice.forecast) == (costs, costs, found)
        assert Costs.from_json(trace.head.extras["costs"]) == costs
        assert trace.head.extras.get("forecast") == (found and found.bins())


def test_methods_that_write_with_the_same_model_share_its_forecast(cheap: None) -> None:
    lab = with_forecast(NEVER)
    for method in ("mixed", "universal"):
        trace = lab.run(
            method, "abcab", max_new_tokens=8, gamma="auto", **({"min_match": 99} if method == "mixed" else {})
        )
        assert trace.head.extras["forecast"] == NEVER.bins() and trace.rounds[0].drafted == 1
    assert "forecast" not in lab.run("layer_skip", "abcab", max_new_tokens=8, gamma="auto").head.extras


def test_a_tree_has_no_use_for_one_and_records_none(cheap: None, tmp_path: Path) -> None:
    lab = toy_with_heads(tmp_path)
    lab.forecasts = {"eagle3": NEVER}
    trace = lab.run("eagle3", [1, 2], max_new_tokens=8, total_token="auto", depth="auto")
    assert "costs" in trace.head.extras and "forecast" not in trace.head.extras


def test_a_recorded_forecast_holds_shares(cheap: None, tmp_path: Path) -> None:
    trace = with_forecast(NEVER).run("sd", "abcab", max_new_tokens=8, gamma="auto")
    trace.save(tmp_path / "run.jsonl")
    loaded = Trace.load(tmp_path / "run.jsonl").head.extras["forecast"]
    assert [(low, held) for low, held in loaded] == NEVER.bins()
    assert "forecast_further" not in Trace.load(tmp_path / "run.jsonl").head.extras
    text = (tmp_path / "run.jsonl").read_text()
    assert '"forecast":[[0.0,0.01],[0.1,0.01]' in text
    for wrong in ("[[0.0,1.01],[0.1,0.01]", "[[0.2,0.01],[0.1,0.01]", "[[0.1,0.01],[0.1,0.01]", "[0.01,[0.1,0.01]"):
        (tmp_path / "run.jsonl").write_text(text.replace("[[0.0,0.01],[0.1,0.01]", wrong))
        with pytest.raises(TraceError, match="forecast"):
            Trace.load(tmp_path / "run.jsonl")
    both = Forecast(ALWAYS.held, further=NEVER.held)
    trace = with_forecast(both).run("sd", "abcab", max_new_tokens=8, gamma="auto")
    trace.save(tmp_path / "run.jsonl")
    assert [tuple(one) for one in Trace.load(tmp_path / "run.jsonl").head.extras["forecast_further"]] == NEVER.bins()
    text = (tmp_path / "run.jsonl").read_text()
    (tmp_path / "run.jsonl").write_text(
        text.replace('"forecast_further":[[0.0,0.01]', '"forecast_further":[[0.0,1.01]')
    )
    with pytest.raises(TraceError, match="forecast_further"):
        Trace.load(tmp_path / "run.jsonl")


def test_what_is_counted_is_every_tested_token_and_no_other() -> None:
    lab = toy_lab()
    trace = lab.run("sd", "abcab", record="full", max_new_tokens=24, gamma=16)
    found = list(placed_trials(trace.rounds))
    assert len(found) == sum(min(event.accepted + 1, event.drafted) for event in trace.rounds)
    assert sum(held for _, held, _ in found) == sum(event.accepted for event in trace.rounds)
    trace = lab.run("sd", "abcab", record="full", max_new_tokens=60, gamma=MOST_CHAIN)
    known = [(sure, held, depth - 1) for sure, held, depth in placed_trials(trace.rounds)]
    assert measured(lab, "sd", ["abcab"], max_new_tokens=60) == forecast(known)
    assert [before for *_, before in known][:3] == [0, 1, 0], "the second token of the first draft did not hold"


def test_a_method_without_a_lossless_chain_or_without_probabilities_is_refused() -> None:
    for name in ("eagle3", "easd", "ar"):
        with pytest.raises(ConfigError, match=f"{name} is none"):
            can_forecast(get_card(name))
    with pytest.raises(ConfigError, match="no probabilities"):
        measured(toy_lab(), "pld", ["abcab"], max_new_tokens=8)


@pytest.mark.thorough
def test_what_a_refused_token_would_have_been_is_read_off_the_target(
    cheap: None, zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the draft model asked by itself, behind the same tokens."""
    told, kept = list[bool | None](), ChainChoice.observe
    monkeypatch.setattr(ChainChoice, "observe", lambda self, *given: told.append(given[3]) or kept(self, *given))
    lab, right = zoo.lab(sigma=0.05), list[bool]()
    for start in range(3, 23):
        told.clear()
        text = [start, start + 1, start + 2]
        trace = lab.run("sd", text, gamma="auto", max_new_tokens=24)
        assert len(told) == len(trace.rounds)
        for found, further in zip(trace.rounds, told, strict=True):
            written = trace.token_ids[len(text) - 3 :][: found.emitted]
            text = [*text, *written]
            if further is not None:
                draft = lab.models["draft"]
                assert found.accepted == found.drafted
                right.append(further)
                wanted = draft.session(len(text)).forward(text[:-1]).logits.argmax() == text[-1]
                assert further == bool(wanted)
    assert {*right} == {True, False}
    told.clear()
    for start in range(3, 23):  # drawn, it might have been another
        lab.run("sd", [start, start + 1, start + 2], gamma="auto", max_new_tokens=24, temperature=0.5)
    assert {*told} == {None}


def test_other_models_than_the_preset_s_do_not_get_its_forecasts() -> None:
    assert wanted("tiny", {}, {}, "auto").forecasts == get_preset("tiny").forecasts != {}
    assert wanted("left_to_device", {}, {}, "auto").forecasts == get_preset("tiny").forecasts
    assert wanted("tiny", {"draft": "elsewhere"}, {}, "auto").forecasts == {}
    assert wanted(None, {"target": "elsewhere"}, {}, "auto").forecasts == {}
    rest = wanted("tiny", {}, {"mtp": "elsewhere"}, "auto").forecasts
    assert {*get_preset("tiny").forecasts} - {*rest} == {"mtp"}


def test_a_forecast_of_no_drafter_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = get_preset("tiny")
    odd = replace(tiny, forecasts={"dflahs": tiny.forecasts["dflash"]})
    monkeypatch.setattr(loading, "get_preset", lambda name: odd)
    with pytest.raises(ConfigError, match=r"drafter of a forecast.*dflahs.*dflash"):
        wanted("tiny", {}, {}, "auto")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("forecasts = 3", "forecasts is a table"),
        ("[forecasts.model]\nheld = [0.5]", "has held, further where"),
        ('[forecasts.model]\nheld = [0.5]\ncommand = "c"', "held has 9 shares"),
        (f'[forecasts.model]\nheld = {[1.5] * 9}\ncommand = "c"', "held has 9 shares"),
        (f'[forecasts.model]\nheld = {[0.5] * 9}\nfurther = [0.5]\ncommand = "c"', "further has 9 shares"),
        (f"[forecasts.model]\nheld = {[0.5] * 9}\ncommand = 3", "command that measured a forecast is a text"),
        (f'[forecasts.model]\nheld = {[0.5] * 9}\nfar = 1\ncommand = "c"', "has held, further where"),
    ],
)
def test_a_damaged_forecast_is_refused(tmp_path: Path, given: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'kind = "pair"\n{given}\n')
    with pytest.raises(ConfigError, match=said):
        read_preset(path)


@pytest.mark.thorough
def test_the_command_prints_a_preset_s_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--task", "sentences,functions", "--items", "2", "--max-new-tokens", "24"]
    assert main(["calibrate", "--forecast", "sd", "--preset", "tiny", *short]) == 0
    printed = capsys.readouterr().out
    entry, held, command = printed.strip().splitlines()  # so short a text has no draft that goes any further
    (tmp_path / "mine.toml").write_text(f'kind = "pair"\n{printed}')
    assert read_preset(tmp_path / "mine.toml").forecasts["model"].command.endswith("--max-new-tokens 24")
    assert (
        command.startswith('command = "python -m engine calibrate --forecast sd')
        and entry == "[forecasts.model]"
        and held.startswith("held = [")
    )
    assert main(["calibrate", "--forecast", "sd", "--preset", "tiny", *short, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["prompts"] == 4 and f"held = {json.dumps(told['held'])}" == held
    longer = ["--task", "functions", "--items", "1", "--max-new-tokens", "40"]
    assert main(["calibrate", "--forecast", "mtp", "--preset", "tiny", *longer]) == 0
    assert "\nfurther = [" in capsys.readouterr().out
    assert main(["calibrate", "--forecast", "eagle3", *short]) == 2
    assert "eagle3 is none" in capsys.readouterr().err
    assert main(["calibrate", "--forecast", "sd", *short, "--temperature", "0.7"]) == 2
    assert "greedy texts alone" in capsys.readouterr().err
    assert main(["calibrate", "--forecast", "mixed", "--preset", "tiny", *short]) == 0
    assert capsys.readouterr().out.startswith("[forecasts.model]\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "drafter"), [(preset.name, drafter) for preset in list_presets() for drafter in preset.forecasts]
)
def test_the_named_command_gives_the_forecast(preset: str, drafter: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = get_preset(preset).forecasts[drafter]
    words = shlex.split(found.command)
    assert words[:3] == ["python", "-m", "engine"] and f"--preset {preset} " in found.command
    assert main([*words[3:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["drafter"] == drafter and told["held"] == pytest.approx(list(found.held), abs=0.02)
    assert told["further"] == pytest.approx(list(found.further), abs=0.02)
