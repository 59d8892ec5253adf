"""The three parts of a method: protocols, what they are given, how they are found, and rules that are only declared."""

from engine.parts.protocols import (
    ChainShape,
    Choosing,
    Context,
    Drafter,
    Early,
    Ending,
    Kit,
    Knobs,
    Onward,
    Outcome,
    Rule,
    Shape,
    Stepwise,
    TreeShape,
    decoder_only,
    one_pass,
    parts_in,
    writes_as,
)
from engine.parts.threshold_rule import ThresholdRule
from engine.parts.writing import most_of, write_block, write_chain

__all__ = [
    "ChainShape",
    "Choosing",
    "Context",
    "Drafter",
    "Early",
    "Ending",
    "Kit",
    "Knobs",
    "Onward",
    "Outcome",
    "Rule",
    "Shape",
    "Stepwise",
    "ThresholdRule",
    "TreeShape",
    "decoder_only",
    "most_of",
    "one_pass",
    "parts_in",
    "write_block",
    "write_chain",
    "writes_as",
]
