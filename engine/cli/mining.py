"""`mine`: run algorithm 1 over many prompts, with progress, into a file that can be resumed."""

import argparse
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from engine.cli.notes import tell
from engine.cli.options import goes_with, load_lab
from engine.config import Sampling
from engine.errors import ConfigError
from engine.files.held import hold
from engine.judge.client import Endpoint
from engine.judge.continuation import DraftView
from engine.judge.equivalence import parse
from engine.judge.events import Ended, MiningEvent, Progress, Started, to_json
from engine.judge.gumbel import Chooser
from engine.judge.local import GREEDILY, local_search
from engine.judge.mine import mine
from engine.judge.online import UNLIKELY, OnlineSearch
from engine.judge.problems import case_problems, judged, limit_of, own_problems, problems, prompts
from engine.judge.remote import RemoteTarget
from engine.judge.scores import about, fitting, scorer
from engine.judge.search import Prompt, Search
from engine.judge.store import MinedFile, numbers
from engine.judge.vote import JudgeModel
from engine.judge.weights import Judge
from engine.lab import Lab
from engine.runs.mining import WINDOW, miners, online_search
from engine.tasks import Problem
from engine.tasks.marking import OWN
from engine.tasks.prompts import read_prompts, turns_left

BUILD = Path("build/judge")


def mine_handle(args: argparse.Namespace) -> int:
    """Mine with progress; interrupting keeps all finished prompts."""
    goes_with(args, "eagle_online", "window", "unlikely")
    goes_with(args, "endpoint", "endpoint_model", "send_ids", "anchor")
    goes_with(args, "judge_endpoint", "judge_model")
    args.equivalence = str(parse(args.equivalence))
    if args.judge_endpoint:
        _votes_alone(args)
    if args.prompts:
        _own_alone(args)
    else:
        judged(args.task, equivalence=args.equivalence)  # whether both are known, and fit, before models are loaded
    asked, lab = _problems(args), load_lab(args)
    if args.eagle_online:
        _online_alone(args)
        args.window, args.unlikely = args.window or WINDOW, args.unlikely or UNLIKELY
    else:
        miners(lab)
    args.limit = args.limit or limit_of(args.task)
    found = prompts(asked, lab.target.tokenizer, args.chat)
    name = "prompts" if args.prompts else args.task
    out = args.out or BUILD / f"{name}{'-naive' if args.naive else '-online' if args.eagle_online else ''}.jsonl"
    judge = _judge(args, lab) if args.score else None
    searches = _searches(args, lab, found)  # checks what was asked for, so that no file is begun in vain
    finish = scorer(judge, {"target": lab.target, **lab.models}) if judge else None
    with hold(args.shard.own(out)):
        file = MinedFile(out, _head(args, lab) | ({"judge": about(judge)} if judge else {}), args.shard)
        file.fits({prompt.id: prompt.ids for prompt in found})
        share = [prompt for number, prompt in enumerate(found) if args.shard.takes(number)]
        events = mine(share, searches, file, args.minutes and args.minutes * 60, finish)
        try:
            for event in events:
                _tell(event, args.json)
        finally:
            events.close()
        missing = file.gather([prompt.id for prompt in found])
    if not args.json:
        rest = "" if args.shard.alone or not missing else f"; {missing} of {len(found)} prompts are others'"
        print(f"mined file: {file.path if rest else out}{rest}")
    return 0


def _problems(args: argparse.Namespace) -> list[Problem]:
    """The problems asked for; those of cases come first and are not repeated."""
    if args.prompts:
        own = read_prompts(args.prompts, args.items)
        tell(turns_left(own))
        return own_problems(own)
    first = case_problems(args.task) if args.cases else []
    found = problems(args.task, args.split, args.items, args.problem_seed, args.source, args.shots, args.shots_from)
    return [*first, *(p for p in found if p.prompt not in {case.prompt for case in first})][: args.items]


def _judge(args: argparse.Namespace, lab: Lab) -> Judge | None:
    """The task's judge, if one is loaded that was trained for this pair."""
    roles = [role for role in lab.asset_paths if role.split(":")[0] == "judge"]
    judge = fitting({role: lab.asset(role) for role in roles}, args.task, {"target": lab.target, **lab.models})
    if judge is None:
        print(f"no judge for {args.task} and this pair is loaded: mined without scores", file=sys.stderr)
    return judge


def _head(args: argparse.Namespace, lab: Lab) -> dict[str, Any]:
    """What decides the labels; a file is resumed only with the same."""
    target = lab.target.describe()
    if args.endpoint:
        target = {"id": args.endpoint_model or "server", "revision": Endpoint(args.endpoint, args.endpoint_model).place}
    drafter = {args.eagle_online: lab.describe_asset(args.eagle_online)} if args.eagle_online else {}
    models = {"target": target, **(drafter or {"draft": lab.models["draft"].describe()})}
    names = (
        "source",
        "problem_seed",
        "limit",
        "chat",
        "naive",
        "most",
        "report",
        "temperature",
        "top_p",
        "top_k",
        "seed",
    )
    settings = {name: getattr(args, name) for name in names}
    settings |= numbers(lab.models["draft"] if args.endpoint else lab.target)
    settings |= {"split": args.split} if args.split != "train" else {}
    settings |= {"equivalence": args.equivalence} if args.equivalence != "answer" else {}
    settings |= {"shots": args.shots, "shots_from": args.shots_from} if args.shots else {}
    settings |= (
        {"eagle_online": args.eagle_online, "window": args.window, "unlikely": args.unlikely}
        if args.eagle_online
        else {}
    )
    settings |= {name: True for name in ("cases", "anchor") if getattr(args, name)}
    vote = {"judge_model": args.judge_model, "votes": args.votes, "vote": args.vote} if args.judge_endpoint else {}
    return {"task": args.task, "models": models, **settings, **vote}


def _own_alone(args: argparse.Namespace) -> None:
    """The task and source of a user's own prompts.

    Raises:
        ConfigError: nobody is there to compare responses to them, or something is asked for that belongs to a task.
    """
    if not args.judge_endpoint:
        raise ConfigError(
            "Prompts of your own have no answers to compare: give --judge-endpoint, whose chat model compares "
            "responses; or, where they have answers, --task and --source."
        )
    names = ("source", "shots", "shots_from", "cases")
    if wrong := next((name for name in names if getattr(args, name)), ""):
        raise ConfigError(f"--{wrong.replace('_', '-')} is for a --task: leave it out with --prompts.")
    args.task, args.source = OWN, str(args.prompts)


def _votes_alone(args: argparse.Namespace) -> None:
    """Nothing unless something else than the chat model is to say when an altered response is as good.

    Raises:
        ConfigError: it is.
    """
    others = {f"--equivalence {args.equivalence}": args.equivalence != "answer", "--report": args.report}
    if wrong := next((name for name, given in others.items() if given), None):
        raise ConfigError(f"With --judge-endpoint a chat model decides what is as good: leave {wrong} out.")


def _online_alone(args: argparse.Namespace) -> None:
    """Nothing unless something is asked for that the online variant has no place for.

    Raises:
        ConfigError: it is.
    """
    others = {"--naive": args.naive, "--temperature above 0": args.temperature > 0, "--endpoint": args.endpoint}
    if wrong := next((name for name, given in others.items() if given), None):
        raise ConfigError(
            f"--eagle-online is greedy, with a target here, and keeps unimportant swaps: leave {wrong} out."
        )


def _searches(args: argparse.Namespace, lab: Lab, found: list[Prompt]) -> list[Search] | list[OnlineSearch]:
    sampling = Sampling(args.temperature, args.top_k, args.top_p)
    if args.endpoint and not sampling.greedy:
        raise ConfigError(GREEDILY)
    key = os.environ.get(args.key_env, "")
    criterion: Any
    if args.judge_endpoint:
        criterion = JudgeModel(Endpoint(args.judge_endpoint, args.judge_model, key), args.votes, args.vote)
    else:
        criterion = judged(args.task, args.report, args.equivalence).criterion
    if args.eagle_online:
        online = online_search(lab, args.eagle_online, found, criterion, args.limit, args.window)
        online.unlikely = args.unlikely
        return [online]
    if not args.endpoint:
        here = local_search(
            lab.target,
            lab.models["draft"],
            found,
            criterion,
            args.limit,
            vocab=lab.vocab,
            chooser=Chooser(sampling, args.seed),
            naive=args.naive,
            most=args.most,
        )
        return [here]
    words, lock = lab.target.tokenizer, threading.Lock()
    capacity = max(len(prompt.ids) for prompt in found) + args.limit + 8
    target = RemoteTarget(Endpoint(args.endpoint, args.endpoint_model, key), words, args.send_ids)

    def search() -> Search:
        draft = DraftView(lab.models["draft"], capacity, Chooser(), lab.vocab, lock)
        return Search(target, draft, criterion, words, args.limit, args.naive, args.most, args.anchor)

    return [search() for _ in range(max(1, args.requests))]


def _tell(event: MiningEvent, as_json: bool) -> None:
    if as_json:
        print(json.dumps(to_json(event), ensure_ascii=False), flush=True)
    elif isinstance(event, Started):
        print(f"{event.total - event.done} of {event.total} prompts to mine", flush=True)
    elif isinstance(event, Progress):
        left = "" if event.left_s is None else f", about {event.left_s / 60:.1f} min left"
        counts = f"{event.done}/{event.total} prompts, {event.labels} labels, {event.important} important"
        line = f"{counts}, {event.seconds:.0f} s{left}"
        print(f"\r{line}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)
    elif isinstance(event, Ended):
        print(f"\n{event.reason}: {event.done} of {event.total} prompts")
