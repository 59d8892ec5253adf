"""The bench: contenders timed in turns, in one process, on the same prompts; ratios with their spread."""
