"""From traces to tables, numbers and sentences. Pure functions of what was recorded; no torch, no figures."""
