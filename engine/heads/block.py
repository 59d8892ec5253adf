"""One Llama decoder block as pure functions over named weights, for heads, as training runs it; drafting runs `lean`.

Dimension key: T rows, D width, I input width of the attention, H query heads, K key-value heads, C channels a head.
Leading batch dimensions are allowed everywhere.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Llama3:
    """Rope scaling "llama3": slow rotations are stretched, fast ones stay, those between are mixed."""

    factor: float
    low: float  # turns within `context` positions below which a rotation is slow
    high: float  # and above which it is fast
    context: float  # of the model before it was stretched

    def stretched(self, slow_C: Tensor) -> Tensor:
        """Angles a position [C / 2], from the plain ones."""
        turns = self.context * slow_C / (2 * math.pi)
        share = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return slow_C / self.factor * (1 - share) + slow_C * share


@dataclass(frozen=True, slots=True)
class Yarn:
    """Rope scaling "yarn" (2309.00071): as Llama3 with a ramp over channels; attention is scaled too."""

    factor: float
    context: float
    fast: float = 32.0
    slow: float = 1.0
    scale: float = 1.0  # of cosines and sines

    def stretched(self, slow_C: Tensor, theta: float) -> Tensor:
        """Angles a position [C / 2], from the plain ones."""
        half = len(slow_C)
        ends = [
            half * math.log(self.context / (turns * 2 * math.pi)) / math.log(theta) for turns in (self.fast, self.slow)
        ]
        low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), 2 * half - 1)
        places = torch.arange(half, dtype=slow_C.dtype, device=slow_C.device)
        ramp = ((places - low) / max(high - low, 0.001)).clamp(0, 1)
        return slow_C / self.factor * ramp + slow_C * (1 - ramp)


@dataclass(frozen=True, slots=True)
class Spec:
    """Sizes of a block, and its rotary positions."""

    width: int
    mlp: int
    heads: int
    kv_heads: int
    channels: int
    eps: float = 1e-6
    theta: float = 10000.0
    stretch: float = 1.0  # rope scaling "linear": positions are divided by it
    dynamic: float = 1.0  # rope scaling "dynamic": the base grows beyond `context` positions
    context: int = 2048
    llama3: Llama3 | None = None
    yarn: Yarn | None = None

    @property
    def uncaptured(self) -> str:
        """Why levels of such a block cannot be captured (`engine.heads.graphs`), as the end of a sentence; empty when
        they can."""
        return "its rotation depends on the length of the text" if self.dynamic > 1 else ""


def rope(spec: Spec, positions: int, like: Tensor, first: int = 0) -> tuple[Tensor, Tensor]:
    """Cosine and sine tables [positions - first, C] of a text of so many positions, from the `first` on; the sine
    carries the sign of rotate_half, so that a roll replaces it."""
    C, theta = spec.channels, spec.theta
    if spec.dynamic > 1 and positions > spec.context:
        theta *= (spec.dynamic * positions / spec.context - (spec.dynamic - 1)) ** (C / (C - 2))
    slow = 1.0 / theta ** (torch.arange(0, C, 2, dtype=torch.float64, device="cpu") / C)
    slow = slow if spec.llama3 is None else spec.llama3.stretched(slow)
    slow = slow if spec.yarn is None else spec.yarn.stretched(slow, theta)
    angle = torch.arange(first, positions, dtype=torch.float64, device="cpu").unsqueeze(1) / spec.stretch * slow
    scale = 1.0 if spec.yarn is None else spec.yarn.scale
    cos, sin = angle.cos() * scale, angle.sin() * scale
    tables = torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)
    whole, signed = (table.to(like.dtype).to(like.device) for table in tables)  # not every device has float64
    return whole, signed


def shapes(spec: Spec, at: str, wide: int, *, biased: bool = False) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a block's weights, as transformers calls them; `wide` is the attention's input width."""
    q, kv = spec.heads * spec.channels, spec.kv_heads * spec.channels
    attention = {"q_proj": (q, wide), "k_proj": (kv, wide), "v_proj": (kv, wide), "o_proj": (spec.width, q)}
    mlp = {"gate_proj": (spec.mlp, spec.width), "up_proj": (spec.mlp, spec.width), "down_proj": (spec.width, spec.mlp)}
    named: dict[str, tuple[int, ...]] = {f"{at}.self_attn.{n}.weight": s for n, s in attention.items()}
    named |= {f"{at}.mlp.{n}.weight": s for n, s in mlp.items()}
    named[f"{at}.post_attention_layernorm.weight"] = (spec.width,)
    if biased:
        named |= {f"{at}.self_attn.{n}.bias": attention[n][:1] for n in ("q_proj", "k_proj", "v_proj")}
    return named


class Block:
    """Fused views of a block's weights. Autograd passes through, so training builds one from its parameters each
    step."""

    def __init__(self, weights: Mapping[str, Tensor], at: str, spec: Spec) -> None:
        self.spec, a = spec, f"{at}.self_attn"
        three = ("q_proj", "k_proj", "v_proj")
        self.qkv = torch.cat([weights[f"{a}.{n}.weight"] for n in three])
        self.bias = torch.cat([weights[f"{a}.{n}.bias"] for n in three]) if f"{a}.q_proj.bias" in weights else None
        self.out = weights[f"{a}.o_proj.weight"]
        self.gate_up = torch.cat([weights[f"{at}.mlp.{n}_proj.weight"] for n in ("gate", "up")])
        self.down = weights[f"{at}.mlp.down_proj.weight"]
        self.norm = weights[f"{at}.post_attention_layernorm.weight"]

    def project(self, x_TI: Tensor, cos_TC: Tensor, sin_TC: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rotated queries [H, T, C] and keys [K, T, C], and values [K, T, C]."""
        H, K, C = self.spec.heads, self.spec.kv_heads, self.spec.channels
        flat = F.linear(x_TI, self.qkv, self.bias)
        qkv = flat.view(*flat.shape[:-1], H + 2 * K, C).transpose(-3, -2)
        qk, v = qkv[..., : H + K, :, :], qkv[..., H + K :, :, :]
        qk = qk * cos_TC + qk.roll(C // 2, -1) * sin_TC
        return qk[..., :H, :, :], qk[..., H:, :, :], v

    def close(self, x_TD: Tensor, attended_HTC: Tensor) -> Tensor:
        """The rest of the block after attention: output projection, residual, MLP, residual [T, D]."""
        x = x_TD + F.linear(attended_HTC.transpose(-3, -2).flatten(-2), self.out)
        gate, up = F.linear(F.rms_norm(x, (x.shape[-1],), self.norm, self.spec.eps), self.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)
