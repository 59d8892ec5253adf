"""`bench`: against transformers, methods against `ar`, what recording, lookups and trees cost, the physical limit; with
`--batch` speeds by the number of prompts decoded together; with `--auto` settings left to the device against fixed
ones."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from engine.analysis.quality import Response, Responses, measures
from engine.analysis.rows import AGAINST
from engine.bench.batches import METHODS
from engine.bench.bookkeeping import bookkeeping
from engine.bench.busy import beside
from engine.bench.contenders import bandwidth, kept, loaded, ours, theirs
from engine.bench.contest import Contender, Lap, Times, contest
from engine.cli.autobench import bench_auto
from engine.cli.batchbench import SIZES, bench_batches, tell
from engine.cli.compare import quality_lines
from engine.cli.options import add_draws, add_models, add_prompts, draws, load_here, prompts, readable
from engine.cli.progress import track
from engine.cli.specs import Spec, once, split
from engine.config import label, parse_method
from engine.errors import ConfigError
from engine.files.places import locate
from engine.kinds import COUNT, TO_FILE
from engine.lab import Lab
from engine.model.devices import described
from engine.runs.loading import wanted
from engine.tasks import FAMILIES, Problem
from engine.tasks.marking import OWN, marking
from engine.tune.speed import measure

EXTRAS = (
    "sd:gamma=7",  # the constant length that is fastest on the embedded pair, found after the first measurement
    "sd:gamma=auto",  # left to what rounds cost here, as are the next three
    "mtp:gamma=auto",
    "dflash:gamma=auto",
    "eagle3:total_token=auto:depth=auto",
    "recycle:scope=global",  # as published: one matrix for all prompts
    "recycle:fill_empty=true",  # as the reference code does: rows that nobody wrote are fed too
    "sam_recycle:scope=global",
)
BESIDE = ("ar", "sd")  # timed beside another busy process too
HISTORY = 10_000  # tokens that the lookup structures hold when they are timed


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("bench")
    add_models(parser)
    add_prompts(parser, "arithmetic", 8)
    parser.add_argument("--chat", action="store_true", help="wrap prompts in the target's chat template")
    parser.add_argument(
        "--max-new-tokens", type=COUNT, default=96, metavar="N", help="limit of each response, tokens (default: 96)"
    )
    add_draws(parser)
    parser.add_argument(
        "--repetitions",
        type=COUNT,
        default=5,
        metavar="N",
        help="rounds of the contest, at least 5 for a report (default: 5)",
    )
    parser.add_argument(
        "--methods",
        default="",
        metavar="A,B,...",
        help="methods to set against ar, with knobs as sd:gamma=7 (default: all that this pair can run, and "
        f"{', '.join(EXTRAS)})",
    )
    parser.add_argument(
        "--batch",
        type=SIZES,
        metavar="N,N,...",
        help="instead of all that: tokens per second and latency by the number of prompts decoded together, and where "
        f"speculation stops paying (usual sizes: 1,2,4,8,16; methods: {', '.join(METHODS)})",
    )
    parser.add_argument(
        "--auto",
        action="store_true",
        help="instead of all that: settings that are left to the device (sd:gamma=auto) against fixed ones of the same "
        f"methods, on a --task or on {', '.join(FAMILIES)}",
    )
    parser.add_argument(
        "--no-transformers",
        action="store_true",
        help="leave out the contests against transformers, which are of decoder-only pairs",
    )
    parser.add_argument("--no-busy", action="store_true", help="leave out the contest beside another busy process")
    parser.add_argument("--no-lookups", action="store_true", help="leave out the cost of the lookup structures")
    parser.add_argument(
        "--quality",
        action="store_true",
        help="beside speed what the same answers are worth: right answers or BLEU with 95 %% intervals, and the paired "
        "difference from ar",
    )
    parser.add_argument("--out", type=TO_FILE, metavar="FILE", help="also write results there, as JSON")
    parser.add_argument("--json", action="store_true", help="results as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Run the contests and print their ratios."""
    if len(given := [name for name in ("auto", "batch", "quality") if getattr(args, name)]) > 1:
        raise ConfigError(f"{' and '.join(f'--{name}' for name in given)} are not told together: give one of them.")
    if (sampled := draws(args)) and (args.auto or args.batch):
        raise ConfigError(f"--{given[0]} measures greedy runs: leave out --temperature.")
    if args.auto:
        return bench_auto(args)
    asked = prompts(args)
    if args.batch:
        return bench_batches(args, asked)
    if args.quality and any(one.problem is None for one in asked):
        raise ConfigError("--quality needs a --task: the prompts of a file have no right answers.")
    lab = load_here(args)
    readable(lab, asked, args.chat)
    problems = [one.problem for one in asked if one.problem]
    ids = [lab.target.tokenizer.encode(one.text, args.chat) for one in asked]
    contenders = _contenders(lab, _wanted(lab, args.methods), ids[0], args, sampled)
    times = contest(
        contenders, ids, args.repetitions, lambda it: track(it, "repetitions", args.repetitions, quiet=args.json)
    )
    result = _report(lab, times) | {
        "task": args.task or str(args.prompts or OWN),
        "prompts": len(ids),
        "max_new_tokens": args.max_new_tokens,
        "sampling": {"temperature": args.temperature, **sampled},
    }
    if args.quality:
        result["quality"] = _quality(lab, times, problems)
    crowded = {} if args.no_busy else {name: contenders[name] for name in BESIDE if name in contenders}
    busy = beside(crowded, ids, args.repetitions) if crowded else {}
    result["busy"] = {name: vars(spread) for name, spread in busy.items()}
    on_cpu = lab.target.device.type == "cpu"  # elsewhere a clock on the host sees no passes, but their launches
    result["trees"] = bookkeeping(lab, ids, args.max_new_tokens, args.repetitions, **sampled) if on_cpu else {}
    result["lookups"] = [] if args.no_lookups else [asdict(cost) for cost in measure(lab, HISTORY)]
    tell(args, result, _text)
    return 0


def _wanted(lab: Lab, methods: str) -> list[Spec]:
    """The methods named, or all that run here.

    Raises:
        ConfigError: an unknown method or knob.
    """
    can = [card.name for card in lab.methods() if card.name != "ar"]
    specs = [parse_method(part) for part in split(methods)] if methods else [parse_method(n) for n in can]
    if not methods:
        specs += [parse_method(extra) for extra in EXTRAS if extra.split(":")[0] in can]
    once(specs)
    return specs


def _contenders(
    lab: Lab, specs: list[Spec], first: list[int], args: argparse.Namespace, sampled: dict[str, Any]
) -> dict[str, Contender]:
    n = args.max_new_tokens
    found = {"ar": ours(lab, "ar", n, **sampled), "ar full": ours(lab, "ar", n, "full", **sampled)}
    for name, given in specs:
        known = given | sampled
        lives_on = given.get("scope") == "global"
        found[label((name, given))] = kept(lab, name, first, n, **known) if lives_on else ours(lab, name, n, **known)
        if name == "sd" and not given:
            found["sd full"] = ours(lab, name, n, "full", **sampled)
    if lab.target.seam and not args.no_transformers:
        print("note: contests against transformers are left out: this target is an encoder-decoder", file=sys.stderr)
    elif not args.no_transformers:
        found |= _transformers(lab, args, n, **sampled)
    return found


def _transformers(lab: Lab, args: argparse.Namespace, n: int, **sampled: Any) -> dict[str, Contender]:
    """Generate, assisted generation with the same draft and length 5, and prompt lookup."""
    given = {role: ref for role, ref in (("target", args.target), ("draft", args.draft)) if ref is not None}
    preset = None if args.target else args.preset or "tiny"
    folders = {role: locate(ref) for role, ref in wanted(preset, given, {}, args.dtype).models.items()}
    target = loaded(lab, folders["target"])
    found = {
        "hf generate": theirs(lab, target, n, **sampled),
        "hf prompt lookup": theirs(lab, target, n, prompt_lookup_num_tokens=10, **sampled),
    }
    if "draft" in folders:
        draft = loaded(lab, folders["draft"])
        found["hf assisted 5"] = theirs(lab, target, n, assistant=draft, num_assistant_tokens=5, **sampled)
    return found


PAIRS = (("ar", "hf generate"), ("sd", "hf assisted 5"), ("pld", "hf prompt lookup"))


def _report(lab: Lab, times: Times) -> dict[str, Any]:
    ratios = {f"{a} / {b}": times.ratio(a, b) for a, b in PAIRS if a in times.names and b in times.names}
    ratios |= {
        f"{n} / ar": times.ratio(n, "ar")
        for n in times.names
        if n != "ar" and not n.endswith(" full") and not n.startswith("hf")
    }
    cost = {
        f"{n} light / full": times.ratio(n, f"{n} full")
        for n in ("ar", "sd")
        if f"{n} full" in times.names and n in times.names
    }
    size = getattr(lab.target.decoder, "reads", lab.target.bytes)
    limit = bandwidth(lab.target.device) / size
    return {
        "device": described(lab.target.device),
        "dtype": lab.target.dtype,
        "threads": torch.get_num_threads(),
        "threads_why": lab.threads.why if lab.threads else "",
        "target": lab.target.describe(),
        "counts": {
            n: _counts(times.total(n)) for n in times.names if not n.startswith("hf") and not n.endswith(" full")
        },
        "tokens_per_s": {n: vars(times.speed(n)) for n in times.names},
        "ratios": {name: vars(spread) for name, spread in ratios.items()},
        "recording": {name: vars(spread) for name, spread in cost.items()},
        "weight_bytes": size,
        "limit_tokens_per_s": limit,
        "ar_share_of_limit": times.speed("ar").median / limit,
    }


def _quality(lab: Lab, times: Times, problems: Sequence[Problem]) -> dict[str, dict[str, Any]]:
    """The measures of `engine.analysis.quality` on what each contender wrote in the last repetition."""
    answers = {n: _answers(lab, times.total(n), problems) for n in times.names if not n.endswith(" full")}
    told = {name: measures(own, answers["ar"], {p.family for p in problems}) for name, own in answers.items()}
    return told | {"ar": {name: one for name, one in told["ar"].items() if not name.endswith(AGAINST)}}


def _answers(lab: Lab, lap: Lap, problems: Sequence[Problem]) -> Responses:
    found = Responses()
    for place, (problem, ids) in enumerate(zip(problems, lap.outputs, strict=True)):
        text = lab.target.tokenizer.continued(ids)
        right = marking(problem.family).right(problem, text)
        found[place, 0] = Response((place,), len(ids), ids, text, problem.answer, right)
    return found


def _counts(lap: Lap) -> dict[str, Any]:
    return {
        "tokens": lap.tokens,
        "calls": lap.calls,
        "verify_tokens": lap.verified,
        "tau": lap.tokens / lap.calls if lap.calls else None,
    }


def _text(result: dict[str, Any]) -> str:
    target, sampled = result["target"], result["sampling"]
    drawn = "".join(f", {name} {value:g}" for name, value in sampled.items()) if sampled["temperature"] else ", greedy"
    lines = [
        f"target {target['id']}: {target['layers']} layers x {target['width']}, {target['parameters'] / 1e6:.1f} M "
        f"parameters, {result['dtype']} on {result['device']}, threads: {result['threads']} ({result['threads_why']})"
        f"{drawn}",
        "",
        "tokens per second",
        *(_line(name, value, 1) for name, value in result["tokens_per_s"].items()),
        "",
        "ratios of tokens per second",
        *(_line(name, value, 2) for name, value in (result["ratios"] | result["recording"]).items()),
        *(["", "quality of the same answers", *quality_lines(result["quality"])] if "quality" in result else []),
        "",
        *_part(
            "tokens per second beside another busy process, over those alone",
            [_line(name, value, 2) for name, value in result["busy"].items()],
        ),
        "target calls, tokens verified, tokens a call",
        *(
            f"  {n:28} {c['calls']:6} {c['verify_tokens']:8} " + (f"{c['tau']:8.2f}" if c["calls"] else "no calls")
            for n, c in result["counts"].items()
        ),
        "",
        *_part(
            f"lookups with {HISTORY:,} tokens of history: ms of processor time a round, median and 95th percentile",
            [f"  {c['method']:28} {c['both']:8.3f} {c['worst']:8.3f}" for c in result["lookups"]],
        ),
        *_part(
            "trees: share of a round outside all passes of target and head, and its milliseconds",
            [
                f"  {n:28} {c['share']['median']:8.0%} {c['round_ms']['median']:8.1f}"
                for n, c in result["trees"].items()
            ],
        ),
        f"limit: {result['limit_tokens_per_s']:.0f} tokens/s if a token only had to read "
        f"{result['weight_bytes'] / 1e6:.0f} MB of weights; "
        f"ar reaches {result['ar_share_of_limit']:.0%}",
    ]
    return "\n".join(lines)


def _part(title: str, lines: list[str]) -> list[str]:
    """A titled part of the text; nothing where nothing was measured."""
    return [title, *lines, ""] if lines else []


def _line(name: str, value: dict[str, Any], digits: int) -> str:
    low, high = f"{value['low']:.{digits}f}", f"{value['high']:.{digits}f}"
    return f"  {name:28} {value['median']:8.{digits}f}   {low} to {high}   n={value['n']}"
