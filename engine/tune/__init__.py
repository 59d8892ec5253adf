"""Experiments over many prompts: trajectories in tables, trees optimised on them, automata built from texts."""
