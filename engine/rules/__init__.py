"""Rules: what counts as right? RULES is the list of all."""

from engine.parts import Rule
from engine.rules.entropy_veto import EntropyVeto
from engine.rules.exact import Exact
from engine.rules.gap import Gap
from engine.rules.heuristics import MathRule
from engine.rules.judge import JudgeRule
from engine.rules.top_k import TopK
from engine.rules.typical import Typical

RULES: dict[str, type[Rule]] = {
    part.NAME: part for part in (Exact, EntropyVeto, Gap, TopK, Typical, JudgeRule, MathRule)
}
