"""Draft heads on a target's hidden states: EAGLE-2, EAGLE-3, Medusa, Hydra. Pure functions and strict loaders."""
