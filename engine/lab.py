"""Lab: load a pair once, run and stream methods on it. The page, the command line and notebooks use only this."""

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.config import Card
from engine.costs import Costs
from engine.errors import ConfigError
from engine.files.places import as_path
from engine.judge.client import Endpoint
from engine.judge.events import MiningEvent
from engine.loop import Method
from engine.methods import CARDS
from engine.methods.compose import compose
from engine.model.threads import settle
from engine.progress import alone
from engine.runs import batches, loading, mining, running, trajectories
from engine.runs.pair import Pair
from engine.tasks import Problem
from engine.trace.events import Event
from engine.trace.store import Trace


class Lab(Pair):
    """Models, heads and data of one pair, and what can be done with them.

    `options` of a run are `engine.runs.asking.Options` (max_new_tokens, temperature, top_p, top_k, seed, chat, record,
    stop, top_n, looks, extras), and the method's knobs beside them: `lab.run("sd", "...", temperature=0.7, gamma=4)`.
    """

    @classmethod
    def load(
        cls,
        preset: str | None = None,
        *,
        target: str | Path | None = None,
        draft: str | Path | None = None,
        eagle: str | Path | None = None,
        device: str = "auto",
        target_device: str | None = None,
        draft_device: str | None = None,
        graphs: str = "auto",
        dtype: str = "auto",
        threads: int | str | None = None,
        languages: str = "",
        target_endpoint: str | None = None,
        target_model: str = "",
        target_key: str = "",
        **assets: str | Path | None,
    ) -> "Lab":
        """A lab from a preset's name, or from any Hugging Face ids or local folders.

        `draft` replaces a preset's own; `eagle` is an EAGLE-3 head; further heads and judges go by role
        (`medusa="..."`); their files are read at first use. Models go on `device`, or where `target_device` and
        `draft_device` say, each perhaps several GPUs with commas between; on "auto" each goes on one GPU where it fits,
        the draft beside the target, and is spread over several only where it does not. Heads go with the target.
        `graphs` captures passes on CUDA devices ("auto" and "on"; the model's notes say why where it cannot be), or
        does not ("off"). `threads` is a number for torch, or "auto": the fastest in a short measurement on the target;
        None changes nothing.
        `languages` ("en_XX:de_DE") are those of source and target, for encoder-decoder models of several.
        With `target_endpoint` the target stays on a server (vLLM's .../v1, SGLang's .../generate;
        `target_model` and `target_key` are its name and key there), and only its tokenizer and configuration are read:
        for greedy chains, light records, mining, and judges that read the draft model. What is None is not given.
        Threads may load at once.

        Raises:
            ConfigError: neither or both given, an unknown preset, device, dtype, option or role; a server's model or
                key without its address.
            AssetError: files are missing. ModelMismatch: the pair cannot work together, with the reason.
            EngineFault: out of memory.
        """
        models = loading.references({"target": target, "draft": draft})
        heads = loading.references({**assets, **({} if eagle is None else {"eagle3": eagle})})
        if eagle is not None and assets.get("eagle3") is not None:
            raise ConfigError("An EAGLE-3 head is given twice, as eagle and as eagle3: give it once.")
        loading.texts(
            {
                "dtype": dtype,
                "graphs": graphs,
                "languages": languages,
                "target_endpoint": "" if target_endpoint is None else target_endpoint,
                "target_model": target_model,
                "target_key": target_key,
            }
        )
        if target_endpoint is None and (target_model or target_key):
            raise ConfigError("target_model and target_key go with target_endpoint, which is not given.")
        found = loading.wanted(preset, models, heads, dtype, languages)
        asked = {role: one for role, one in (("target", target_device), ("draft", draft_device)) if one}
        endpoint = None if target_endpoint is None else Endpoint(target_endpoint, target_model, target_key)
        loaded = loading.load_models(found, device, asked, graphs, endpoint)
        with alone():
            chosen = None if threads is None or endpoint else settle(loaded["target"], threads)
        heads = loading.with_heads(found)
        return cls(loaded.pop("target"), loaded, heads, preset, chosen, found.calibrated, found.forecasts)

    def methods(self) -> list[Card]:
        """The cards that these models can run; `unavailable` tells why not the others."""
        return [card for card in CARDS if not self.hindrance(card)]

    def unavailable(self) -> dict[str, str]:
        """Name of each card that cannot run here, and the reason."""
        return {card.name: reason for card in CARDS if (reason := self.hindrance(card))}

    def compose(self, *, drafter: str, shape: str, rule: str, **knobs: Any) -> Card:
        """A method of any three parts, usable in `run`; its guarantee is the weakest of the parts.

        Raises:
            ConfigError: an unknown part or knob, or parts that do not fit, with the reason.
        """
        return compose(drafter=drafter, shape=shape, rule=rule, **knobs)

    def run(self, method: str | Card, prompt: str | Sequence[int] = "", **options: Any) -> Trace:
        """A whole run as a trace; the options are those of `stream`."""
        return Trace(self.stream(method, prompt, **options))

    def stream(
        self, method: str | Card, prompt: str | Sequence[int] = "", *, reuse: Method | None = None, **options: Any
    ) -> Iterator[Event]:
        """The run as events: RunStarted, a Round a target call, RunEnded. Closing the iterator stops it within a round.

        `reuse` is a method of `living`, which may have lived through other prompts; its knobs need not be named again.
        It serves one run at a time: from the run's first event until its last, or until the iterator is closed.

        Raises:
            ConfigError, AssetError, ModelMismatch: at once, for anything about the request that cannot be; nothing has
            run then. ConfigError: with the first event, where another run has taken the method to reuse by then.
            EngineFault: at once, when there is no memory for the run.
        """
        return running.stream(self, method, prompt, options, reuse)

    def living(self, method: str | Card, **knobs: Any) -> Method:
        """A method that lives through several runs, as it would on a server: give it to each as `reuse`, or to
        `trajectories` as `keep`. Its tables carry over (knob scope), and where lengths are left to the device
        (gamma=auto) what it has learnt of them. A run then depends on those before it. Above temperature 0 give each
        run a seed of its own, as `trajectories` does: drafts from texts that the same uniforms drew depend on those
        that test them, and then no rule is exact.

        Raises:
            ConfigError: an unknown method or knob, or a model that is missing.
        """
        return running.prepare(self, method, **knobs)

    def run_batch(self, method: str | Card, prompts: Sequence[str | Sequence[int]], **options: Any) -> list[Trace]:
        """Runs of several prompts side by side: one trace a prompt, in their order; the options are those of `stream`.

        Each row is the run that `run` gives of its prompt, token for token and round for round, but for rounding in the
        models' sums; row i has the seed `seed + i`. Rows draft until each waits for the target, which reads all their
        drafts in one pass; a row that ends leaves. Times are milliseconds of the clock on the wall: `verify_ms` holds
        what a row waits for the others, so the sum of its rounds is its latency. Tokens per second of the batch are all
        rows' tokens over the seconds of this call. Each head's `extras` tell its `row`, from 0, and the size of the
        `batch`.

        Raises:
            ConfigError: as `stream`; no prompts; models that run one sequence at a time (through transformers, on
            servers or spread over devices); more rows than the memory holds, with the number that it does.
            EngineFault: as `stream`.
        """
        return batches.run_batch(self, method, prompts, options)

    def costs(self, method: str | Card, prompt: str | Sequence[int] = "", **options: Any) -> Costs:
        """What rounds of a method cost on this device, by which its settings of `auto` choose; measured on first use.

        Raises:
            ConfigError: as `stream`; a method without a knob that can be `auto`.
        """
        return running.costs(self, method, prompt, options)

    def trajectories(
        self,
        method: str | Card,
        prompt: str | Sequence[int] = "",
        n: int = 8,
        *,
        keep: Method | None = None,
        **options: Any,
    ) -> Iterator[Trace]:
        """Draw n answers to one prompt, one after another; what the method's tables learn from one serves the next.

        Unless told otherwise, answers have at most 256 tokens at temperature 0.6 and are recorded lightly. `keep` is a
        method of `living` that goes on after this call (knob scope=global); the next prompt wants another seed then.

        Raises:
            ConfigError: as `stream`; at once for n below 1.
        """
        return trajectories.finished(self.stream_trajectories(method, prompt, n, keep=keep, **options))

    def stream_trajectories(
        self,
        method: str | Card,
        prompt: str | Sequence[int] = "",
        n: int = 8,
        *,
        keep: Method | None = None,
        **options: Any,
    ) -> Iterator[Event]:
        """The events of `trajectories`, run after run; closing the iterator stops within a round."""
        return trajectories.follow(self, method, prompt, n, options, keep)

    def mine(
        self, task: str, found: Sequence[Problem], path: str | Path, **settings: Any
    ) -> Generator[MiningEvent, None, None]:
        """Which mismatches of target and draft change the answer (AutoJudge, algorithm 1); `settings` are those of
        `engine.judge.local.Mining`.

        `path` is resumed. Closing the iterator keeps all finished prompts.

        Raises:
            ConfigError: no draft model, an unknown task or setting, or a file that was mined otherwise.
        """
        return mining.mine(self, task, found, as_path(path), settings)

    def teacher_forced_entropies(self, prompt: str, solution: str, chat: bool = False) -> list[float]:
        """The target's entropy, nats, before each token of a given solution and after its last.

        Raises:
            ConfigError: prompt and solution do not fit the context.
        """
        return running.teacher_forced_entropies(self, prompt, solution, chat)
