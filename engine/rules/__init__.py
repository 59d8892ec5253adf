"""Rules: what counts as right? RULES holds every class of this folder that has a NAME, THRESHOLDS what they declare."""

from engine.files.own import own_files
from engine.parts import Rule, parts_in
from engine.threshold import Threshold

__path__.extend(own_files("rules", __path__))
RULES: dict[str, type[Rule]] = parts_in(__name__, __path__)
THRESHOLDS: dict[str, Threshold] = {name: rule.THRESHOLD for name, rule in RULES.items() if rule.THRESHOLD is not None}
