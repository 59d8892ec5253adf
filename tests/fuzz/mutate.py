"""Damage by seed: bytes, JSON values, tensors. Each function takes what is sound and a random generator, and gives what may not be."""

import copy
import json
import random
import struct
from typing import Any

DEEP: Any = 1
for _ in range(60):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 7, 255, 4097, 10**5, 10**8, 2**31, 2**53, 2**53 + 1, 2**63, -(2**63), 10**30),
    *(0.5, -0.5, 1.0, 1.5, -0.0, 1e-320, 1e30, 1e300, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
    *("", "x", "0", "1e9", "NaN", "Infinity", "-Infinity", "true", "\ud800", "\x00", "../../etc/passwd", "a" * 5000),
    *([], {}, [[]], [None], [1, "a"], [0] * 2000, [[]] * 500, {"": 0}, {"a": {"b": []}}, DEEP),
)


def value(sound: Any, rng: random.Random, times: int | None = None) -> Any:
    """A copy of a JSON value with one to four places changed."""
    out = copy.deepcopy(sound)
    for _ in range(times or rng.choice((1, 1, 1, 2, 4))):
        out = _change(out, rng)
    return out


def _change(whole: Any, rng: random.Random) -> Any:
    parent: Any = None
    key: Any = None
    at = whole
    while isinstance(at, dict | list) and at and (parent is None or rng.random() < 0.85):
        parent = at
        key = rng.choice(sorted(at)) if isinstance(at, dict) else rng.randrange(len(at))
        at = at[key]
    if parent is None:
        return copy.deepcopy(rng.choice(ODD))
    match rng.randrange(10):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(at))
        case 1:
            parent[rng.choice(("new", "", "\u2028", key + "x"))] = copy.deepcopy(rng.choice(ODD))
        case 2 if isinstance(at, int | float) and not isinstance(at, bool):
            parent[key] = _number(at, rng)
        case 3 if isinstance(parent, list) and len(parent) > 1:
            parent[key], parent[0] = parent[0], parent[key]
        case 4 if isinstance(parent, dict) and len(parent) > 1:
            parent[key] = copy.deepcopy(parent[rng.choice(sorted(parent))])
        case 5 if isinstance(at, str):
            parent[key] = at[: rng.randrange(len(at) + 1)] + rng.choice(("", "\ud83d", "\x00", "<script>", "9" * 400))
        case 6 if isinstance(at, list | dict):
            parent[key] = rng.choice(([], {}, None, [at], {"a": at}))
        case _:
            parent[key] = copy.deepcopy(rng.choice(ODD))
    return whole


def _number(at: float, rng: random.Random) -> float:
    return rng.choice(
        (-at, at + 1, at - 1, at * 2, at / 2, at * 1e6 if abs(at) < 1e300 else 0, at + 1e-9, at // 1 if at == at else 0)
    )


def text(sound: Any, rng: random.Random) -> bytes:
    """A changed value as JSON, with NaN and infinities as Python writes them; now and then the bytes are damaged too."""
    data = json.dumps(value(sound, rng)).encode()
    return raw(data, rng) if rng.random() < 0.1 else data


def raw(data: bytes, rng: random.Random) -> bytes:
    """Bytes with some of them flipped, cut out, doubled or put in."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, n = rng.randrange(len(out) + 1), rng.choice((1, 1, 2, 8, 200))
        match rng.randrange(6):
            case 0:
                del out[at:]
            case 1:
                del out[at : at + n]
            case 2:
                out[at:at] = out[at : at + n] * rng.choice((1, 50))
            case 3:
                out[at:at] = rng.choice(
                    (b"\x00", b"\xff\xfe", b"{", b"[" * 3000, b"9" * 400, b"\n", b'"', b"1e999,", b"NaN")
                )
            case _ if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
    return bytes(out)


def lines(sound: list[Any], rng: random.Random) -> bytes:
    """JSON lines: one changed, or lines left out, doubled or in another order."""
    out = list(sound)
    if rng.random() < 0.85:
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.choice((0, len(out) - 1, rng.randrange(len(out))))
            out[at] = value(out[at], rng)
    else:
        a, b = rng.randrange(len(out)), rng.randrange(len(out))
        match rng.randrange(3):
            case 0:
                del out[a]
            case 1:
                out.insert(a, out[b])
            case _:
                out[a], out[b] = out[b], out[a]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in out)
    return raw(data, rng) if rng.random() < 0.08 else data


def tensors(data: bytes, rng: random.Random) -> bytes:
    """A safetensors file with a changed header, or with numbers that are none."""
    (size,) = struct.unpack("<Q", data[:8])
    head, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    choice = rng.random()
    if choice < 0.35:
        head = value(head, rng)
    elif choice < 0.85 and (named := [name for name in sorted(head) if name != "__metadata__"]):
        about = head[rng.choice(named)]
        low, high = about["data_offsets"]
        bad = {"F32": b"\x00\x00\xc0\x7f", "BF16": b"\xc0\x7f", "F16": b"\x00\x7e"}.get(
            about["dtype"], b"\xff\xff\xff\xff"
        )
        bad = rng.choice((bad, bad[:-1] + b"\xff", b"\x00" * len(bad), bad[:-2] + b"\x80\x7f"))
        start = low if rng.random() < 0.5 else low + len(bad) * rng.randrange(max(1, (high - low) // len(bad)))
        stop = high if rng.random() < 0.5 else min(high, start + len(bad))
        body[start:stop] = (bad * ((stop - start) // len(bad) + 1))[: stop - start]
    else:
        return raw(data, rng)
    packed = json.dumps(head).encode()
    return struct.pack("<Q", len(packed)) + packed + bytes(body)
