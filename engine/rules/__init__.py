"""Rules: what counts as right? RULES is the list of all, THRESHOLDS what they declare."""

from engine.parts import Rule
from engine.rules.entropy_veto import EntropyVeto
from engine.rules.exact import Exact
from engine.rules.gap import Gap
from engine.rules.heuristics import MathRule
from engine.rules.judge import JudgeRule
from engine.rules.top_k import TopK
from engine.rules.typical import Typical
from engine.threshold import Threshold

RULES: dict[str, type[Rule]] = {
    part.NAME: part for part in (Exact, EntropyVeto, Gap, TopK, Typical, JudgeRule, MathRule)
}
THRESHOLDS: dict[str, Threshold] = {name: rule.THRESHOLD for name, rule in RULES.items() if rule.THRESHOLD is not None}
