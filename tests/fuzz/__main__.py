"""python -m tests.fuzz: damaged traces, assets, mined sets, presets, requests and knobs, by seed, in processes with limits.

Each input is refused (a LabError), accepted (and then used: an accepted trace must pass the identities), or a fault: any
other exception, more than 512 MB beyond what the process held before, more than 5 seconds of processor time, or a process that died.
"""

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

MEMORY = 512_000_000
SECONDS = 5
A_PROCESS = 2000  # inputs, then a fresh one: what libraries keep of each is no fault of the last


class TooLong(BaseException):
    """An input took more than its time; no handler of the program may keep it."""


def main() -> int:
    """Feed until the inputs or the minutes are used up; status 1 where there was a fault."""
    flags = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    flags.add_argument("--minutes", type=float, default=0.0, help="stop after so long (0: after --inputs)")
    flags.add_argument("--inputs", type=int, default=20_000, help="how many at most (default: 20000)")
    flags.add_argument("--seed", type=int, default=0, help="of all inputs")
    flags.add_argument("--kind", default="", help="one kind only")
    flags.add_argument("--first", type=int, default=0, help="number of the first input")
    flags.add_argument("--out", type=Path, help="write the counts there as JSON")
    flags.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = flags.parse_args()
    if args.worker:
        return work(args)
    counts, faults, started = Counter[str](), list[dict[str, Any]](), time.monotonic()
    last, worst = args.first + args.inputs, {"seconds": 0.0, "megabytes": 0.0}
    at = args.first
    while at < last and not _over(args, started):
        at = _batch(args, at, last, started, counts, faults, worst)
    report = _report(args, counts, faults, worst, at - args.first, time.monotonic() - started)
    print(json.dumps(report, indent=1))
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if faults else 0


def _over(args: argparse.Namespace, started: float) -> bool:
    return bool(args.minutes) and time.monotonic() - started > 60 * args.minutes


def _batch(
    args: argparse.Namespace,
    at: int,
    last: int,
    started: float,
    counts: Counter[str],
    faults: list[dict[str, Any]],
    worst: dict[str, float],
) -> int:
    """Feed one process until it ends or dies; the number of the next input."""
    command = [sys.executable, "-m", "tests.fuzz", "--worker", "--seed", str(args.seed), "--first", str(at)]
    command += ["--inputs", str(min(last - at, A_PROCESS)), "--kind", args.kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                found = json.loads(line)
                counts[f"{found['kind']} {found['outcome']}"] += 1
                worst["seconds"] = max(worst["seconds"], found["seconds"])
                worst["megabytes"] = max(worst["megabytes"], found["megabytes"])
                if found["outcome"] not in ("refused", "accepted"):
                    faults.append(found)
                at = found["input"] + 1
                if _over(args, started):
                    return at
        finally:
            process.terminate()
        if process.wait() != 0 and at < last:
            faults.append({"input": at, "kind": "?", "outcome": "died", "said": f"status {process.returncode}"})
            counts["? died"] += 1
            at += 1
    return at


def _report(
    args: argparse.Namespace,
    counts: Counter[str],
    faults: list[dict[str, Any]],
    worst: dict[str, float],
    inputs: int,
    seconds: float,
) -> dict[str, Any]:
    of = Counter[str]()
    by: dict[str, dict[str, int]] = {}
    for name, count in sorted(counts.items()):
        kind, outcome = name.split(" ")
        of[outcome] += count
        by.setdefault(kind, {})[outcome] = count
    slow = f" --minutes {args.minutes:g}" if args.minutes else ""
    only = f" --kind {args.kind}" if args.kind else ""
    return {
        "command": f"python -m tests.fuzz --inputs {args.inputs} --seed {args.seed}{slow}{only}",
        "inputs": inputs,
        "refused": of["refused"],
        "accepted": of["accepted"],
        "uncaught": of["uncaught"] + of["died"],
        "beyond_512_MB": of["memory"],
        "beyond_5_s": of["time"],
        "longest_s": round(worst["seconds"], 2),
        "most_MB": round(worst["megabytes"], 1),
        "minutes": round(seconds / 60, 1),
        "kinds": by,
        "faults": faults[:50],
    }


def work(args: argparse.Namespace) -> int:
    """One process: a line of JSON an input."""
    from engine.errors import LabError
    from tests.fuzz import feeds

    kinds = feeds.kinds()
    dealt = random.Random(0).sample([k for k in kinds for _ in range(k.share)], sum(k.share for k in kinds))
    if args.kind:
        dealt = [kind for kind in kinds if kind.name == args.kind]
    for kind in {k.name: k for k in dealt}.values():  # what each needs once, such as models, is no input's memory
        try:
            kind.read(kind.damaged(random.Random(0)))
        except Exception:
            continue
    resource.setrlimit(resource.RLIMIT_AS, (_held("VmSize") + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGPROF, _late)
    try:
        for number in range(args.first, args.first + args.inputs):
            kind = dealt[number % len(dealt)]
            given = kind.damaged(random.Random(f"{args.seed}/{kind.name}/{number}"))
            held, started, said = _held("VmRSS"), time.process_time(), ""
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                kind.read(given)
                outcome = "accepted"
            except LabError as error:
                outcome, said = "refused", str(error)
            except MemoryError:
                outcome = "memory"
            except TooLong:
                outcome, said = "time", traceback.format_exc(limit=-3)
            except Exception:
                outcome, said = "uncaught", traceback.format_exc(limit=-4)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            seconds, grown = time.process_time() - started, (_held("VmRSS") - held) / 1e6
            outcome = "time" if seconds > SECONDS else outcome
            found = {"input": number, "kind": kind.name, "outcome": outcome, "seconds": seconds, "megabytes": grown}
            print(
                json.dumps(found | ({"said": said[-900:]} if outcome not in ("refused", "accepted") else {})),
                flush=True,
            )
    finally:
        feeds.clean()
    return 0


def _late(*_: object) -> None:
    raise TooLong


def _held(name: str) -> int:
    """Bytes that the process holds now: "VmSize" of addresses, "VmRSS" of memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
