"""What the parts of a round cost on one device, and how much to draft there so that tokens come fastest.

Plain numbers in, a choice out: no torch, no clock. `engine.runs.costs` measures. docs/design/0010-trees.md says why
such a choice leaves the output distribution alone.
"""

from engine.costs.curve import Costs, Curve

__all__ = ["Costs", "Curve"]
