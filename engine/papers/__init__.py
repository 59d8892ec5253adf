"""The papers, table by table: what each prints, what it takes to measure the same here, and what came of it.

Plain data and analysis, no torch; `engine.cli.reproduce` runs what is not recorded yet.
"""
