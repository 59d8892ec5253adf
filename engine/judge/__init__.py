"""AutoJudge (Garipov et al.): mine which mismatches matter, learn to tell them apart, and judge guesses while decoding."""
