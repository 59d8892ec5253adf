"""Models of a visitor's own: looked at, loaded beside the old ones, refused where a server is public."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import opening
from app import request as requests
from app.flags import parser
from app.opener import Opener, Pair
from app.rounds import Visitor
from app.routes import catalogue_json
from app.service import Service
from app.starting import assemble
from engine import progress
from engine.errors import AssetError, ConfigError
from engine.model import devices
from engine.runs import loading
from engine.runs import preflight as looking
from engine.runs.findings import Finding, Preflight
from tests.app.fakes import FakeLab, sentence
from tests.app.synthetic import CARDS
from tests.engine.devices.pretend import pretended
from tests.engine.zoo import make_model

LOOK = Preflight(True, (), (), 10, 20, 5, ())
PAIR = {"target": "a/big", "draft": "a/small"}


def served(opener: Opener | None) -> tuple[Service, TestClient]:
    service = Service(CARDS, {"made-up": FakeLab}, sentence, opener=opener)
    return service, TestClient(Starlette(routes=opening.routes(service)))


def ways(load: Callable[[Pair], Any] = lambda _: FakeLab(), fetch: Callable[[Pair], None] = lambda _: None) -> Opener:
    return Opener(look=lambda _: LOOK, fetch=fetch, load=load)


def loaded(client: TestClient, **more: Any) -> list[dict[str, Any]]:
    answer = client.post("/lab/load", json=PAIR | more)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_pair_is_looked_at_by_its_name() -> None:
    asked: list[Pair] = []
    _, client = served(replace(ways(), look=lambda pair: asked.append(pair) or LOOK))
    body = client.post("/lab/preflight", json={"target": ' "a/big/" ', "draft": ""}).json()
    assert body["name"] == "a/big" and body["found"]["download"] == 5 and asked == [Pair("a/big", "")]
    body = client.post("/lab/preflight", json={"target": "a/big", "draft": "", "languages": "en_XX:de_DE"}).json()
    assert body["name"] == "a/big (en_XX:de_DE)" and asked[1].languages == "en_XX:de_DE"
    for given, words in (
        ({"target": "  "}, "target must be"),
        ({"target": "a\x00b"}, "plain characters"),
        ({"target": "x" * 501}, "up to 500"),
        ({"target": "~nobody-of-that-name/x"}, "names no user"),
        ({}, "lacks target"),
        ({"target": 3}, "target must be"),
        ({"target": "a", "device": "cpu"}, "device"),
    ):
        refused = client.post("/lab/preflight", json=given)
        assert refused.status_code == 400 and words in refused.json()["error"], given


def test_a_public_server_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    service, client = served(None)
    for path in ("/lab/preflight", "/lab/load"):
        refused = client.post(path, json=PAIR)
        assert refused.status_code == 400 and "without --public" in refused.json()["error"]
    assert assemble(parser().parse_args(["--public", "--lazy"]))[0].closed == service.closed != ""
    assert assemble(parser().parse_args(["--lazy"]))[0].closed == ""
    monkeypatch.setenv("SPACES_ZERO_GPU", "1")
    monkeypatch.setattr("app.zerogpu.prepare", lambda _: None)
    monkeypatch.setattr("app.zerogpu.borrowed", lambda: None)
    monkeypatch.setattr("app.starting.load", lambda **_: FakeLab())
    assert assemble(parser().parse_args(["--lazy"]))[0].closed != ""


def test_a_pair_goes_where_the_server_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the flags to the weights of both models, on devices that are pretended; the look tells the memory of these."""
    folder = str(make_model(tmp_path / "model", layers=1))
    monkeypatch.setattr(devices, "_check", lambda device: None)
    for module in (devices, loading):
        monkeypatch.setattr(module, "accelerators", dict)  # "auto" is the CPU, wherever this runs
    monkeypatch.setattr(looking, "available", lambda where: 10**9 if where.type == "cpu" else (1 + where.index) * 10**9)

    def placed(*flags: str) -> tuple[list[str], list[str]]:
        """Devices of target and draft as loaded, and what is said of memory before."""
        service, _ = assemble(parser().parse_args([*flags, "--lazy", "--threads", "1", "--dtype", "float32"]))
        job, opener = opening.parse(service, {"target": folder, "draft": folder})
        told = [one.words for one in opener.look(job).findings if one.about == "memory"]
        with pretended():
            lab: Any = opener.load(job)
            return [str(model.device) for model in (lab.target, lab.models["draft"])], told

    homes, told = placed("--target-device", "cuda:1", "--draft-device", "cpu")
    assert homes == ["cuda:1", "cpu"] and len(told) == 2
    assert "of the target and" in told[0] and told[0].endswith("2.0 GB are available on cuda:1.")
    assert "of the draft and" in told[1] and told[1].endswith("1.0 GB are available on cpu.")
    homes, told = placed("--device", "cuda:0", "--draft-device", "cuda:1")
    assert homes == ["cuda:0", "cuda:1"] and [words[-7:] for words in told] == ["cuda:0.", "cuda:1."]
    homes, told = placed("--device", "cuda:0")
    assert homes == ["cuda:0", "cuda:0"] and len(told) == 1
    assert placed()[0] == ["cpu", "cpu"]


def test_new_models_stand_beside_the_old_and_replace_those_opened_before() -> None:
    new = FakeLab()
    service, client = served(ways(lambda _: new))
    old = service.lab("made-up")
    assert loaded(client)[-1] == {"kind": "loaded", "models": "a/big + a/small"}
    assert service.models == ("made-up", "a/big + a/small") and service.lab("a/big + a/small") is new
    assert service.lab("made-up") is old
    assert loaded(client, target="b")[-1]["models"] == "b + a/small"
    assert service.models == ("made-up", "b + a/small")
    with pytest.raises(ConfigError, match=r"Unknown models .* opened from a page stay until"):
        requests.build(
            {"prompt": "x", "lanes": ["plain"], "models": "a/big + a/small"}, CARDS, service.models, service.limits
        )
    assert loaded(client, target="b")[-1]["models"] == "b + a/small" and len(service.models) == 2
    assert loaded(client, target="made-up", draft="")[-1]["models"] == "made-up (opened)"  # never in place of its own
    assert service.models == ("made-up", "made-up (opened)") and service.lab("made-up") is old
    assert loaded(client, target="b")[-1]["models"] == "b + a/small" and len(service.models) == 2
    cards = {card["name"]: card for card in service.methods("b + a/small")}
    assert cards["bush"]["here"] == "Drafts a chain here." and cards["copycat"]["unavailable"]
    assert cards["copycat"]["here"] == cards["chain"]["here"] == ""


def test_what_fails_leaves_what_was_there() -> None:
    def broken(_: Pair) -> FakeLab:
        raise AssetError("The weights of a/big are not complete.")

    service, client = served(ways(broken))
    old = service.lab("made-up")
    assert loaded(client)[-1] == {"kind": "error", "error": "The weights of a/big are not complete."}
    assert service.models == ("made-up",) and service.lab("made-up") is old

    def absent(_: Pair) -> None:
        raise AssetError("The hub does not give a/big.")

    service, client = served(ways(fetch=absent))
    assert loaded(client)[-1]["error"] == "The hub does not give a/big." and service.models == ("made-up",)


def test_bytes_are_told_while_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "EVERY", 0.01)
    go = threading.Event()

    def fetch(_: Pair) -> None:
        with progress.loading("target a/big", size=100, doing="Downloading") as one:
            one.reached(40)
            assert go.wait(10)
            one.reached(100)

    service, _ = served(ways(fetch=fetch))
    lines = opening.lines(service, opening.parse(service, PAIR))
    told = next(line for line in lines if line["kind"] == "loading")["loading"]
    assert (told["what"], told["read"], told["size"], told["doing"]) == ("target a/big", 40, 100, "Downloading")
    with pytest.raises(ConfigError, match="being loaded already"):
        next(opening.lines(service, opening.parse(service, PAIR)))
    go.set()
    assert list(lines)[-1]["kind"] == "loaded"


def test_whoever_leaves_stops_the_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "EVERY", 0.01)
    ended = threading.Event()

    def fetch(_: Pair) -> None:
        try:
            with progress.loading("target a/big", size=100) as one:
                for _n in range(1000):
                    one.reached(1)
                    threading.Event().wait(0.01)
        finally:
            ended.set()

    service, _ = served(ways(fetch=fetch))
    lines = opening.lines(service, opening.parse(service, PAIR))
    next(lines)
    lines.close()
    assert ended.wait(5) and service.models == ("made-up",)
    with service.opening():
        """The next may come."""


def test_runs_that_go_on_end_before_models_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "EVERY", 0.01)
    calls = list[str]()
    service, _ = served(ways(lambda _: calls.append("loaded") or FakeLab()))
    with running(service):
        lines = opening.lines(service, opening.parse(service, PAIR))
        assert any(line.get("line") for line, _ in zip(lines, range(200), strict=False)) and not calls
    assert list(lines)[-1]["kind"] == "loaded" and calls == ["loaded"]


def test_a_pair_that_a_visitor_named_is_not_read_beside_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gives up meanwhile is let go."""
    monkeypatch.setattr(opening, "EVERY", 0.01)
    calls = list[str]()
    service, _ = served(ways(lambda pair: calls.append(pair.target) or FakeLab()))
    with progress.alone():
        lines = opening.lines(service, opening.parse(service, PAIR | {"target": "first"}))
        told = [line for line, _ in zip(lines, range(30), strict=False)]
        assert told[-1]["kind"] == "waiting" and not calls
        lines.close()
        with running(service):
            assert not calls
        again = opening.lines(service, opening.parse(service, PAIR))
        next(again)
    assert list(again)[-1]["kind"] == "loaded" and calls == ["a/big"]


def test_what_fits_is_looked_at_once_more_when_it_has_come() -> None:
    """Other models may have taken the memory while a pair was fetched."""
    against = (Finding("memory", "against", "It does not fit: take smaller models."),)
    looks = [Preflight(False, (), against, 10, 5, 0, ())]
    service, client = served(replace(ways(), look=lambda _: looks[0]))
    assert loaded(client)[-1] == {"kind": "error", "error": "It does not fit: take smaller models."}
    assert service.models == ("made-up",)
    looks[0] = LOOK
    assert loaded(client)[-1]["kind"] == "loaded"


@contextmanager
def running(service: Service) -> Iterator[None]:
    with service.line(Visitor("somebody")) as ticket:
        for _ in ticket.waits():
            """The device is free at once."""
        yield


def test_the_catalogue_says_whether_models_can_be_opened(preset_catalogue: Any) -> None:
    for opener, closed in ((ways(), False), (None, True)):
        service, _ = served(opener)
        assert bool(catalogue_json(service, preset_catalogue)["closed"]) is closed


@pytest.mark.thorough
def test_a_server_foresees_what_its_pairs_cannot_run() -> None:
    service, _ = assemble(parser().parse_args(["--lazy", "--threads", "1", "--device", "cpu", "--dtype", "float32"]))
    assert not any(card["unavailable"] for card in service.methods("crossed"))
    service.foresee()
    against = {name: {c["name"] for c in service.methods(name) if c["unavailable"]} for name in service.models}
    assert "eagle3" in against["crossed"] and "cmlm" in against["tiny"] and "eagle3" not in against["tiny"]
    assert all(service._labs.there(name) is None for name in service.models)
