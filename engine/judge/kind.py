"""Which hidden states a judge reads. Plain data.

A block is "model:token": the model's final-normed hidden row after the prefix alone ("prev"), or after the prefix and
the draft's or the target's token. Blocks follow each other as in the published code: the draft's token first, and for
each token the draft model before the target.
"""

from dataclasses import dataclass
from typing import Literal

Token = Literal["prev", "draft", "target", "both"]
Models = Literal["draft", "target", "both"]
TOKENS: tuple[Token, ...] = ("prev", "draft", "target", "both")
MODELS: tuple[Models, ...] = ("draft", "target", "both")


@dataclass(frozen=True, slots=True)
class FeatureKind:
    """AutoJudge section 3.2 and figure 7: encode which token, with which models. The default is the paper's."""

    token: Token = "draft"
    models: Models = "both"

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks, in order."""
        tokens = ("draft", "target") if self.token == "both" else (self.token,)
        models = ("draft", "target") if self.models == "both" else (self.models,)
        return tuple(f"{model}:{token}" for token in tokens for model in models)

    @property
    def online(self) -> bool:
        """Whether all blocks exist while decoding; the target's token is only known after the target has run."""
        return self.token in ("prev", "draft")

    def __str__(self) -> str:
        return f"{self.token} token, {self.models} model{'s' if self.models == 'both' else ''}"


KINDS = tuple(FeatureKind(token, models) for token in TOKENS for models in MODELS)
