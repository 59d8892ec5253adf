"""Training and judging the embedded models: `python -m engine.training --help`."""
