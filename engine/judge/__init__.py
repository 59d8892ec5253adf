"""AutoJudge (Garipov et al.): mine which mismatches matter, learn to tell them apart, judge candidates in decoding."""
