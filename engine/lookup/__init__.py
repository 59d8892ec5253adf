"""Lookup structures of the model-free drafters: history, suffix automata, n-gram tables, adjacency, noise. No model
here."""
