"""Traces: what happened in a run, as JSON types. No torch, no pandas."""

from engine.trace.store import Trace

__all__ = ["Trace"]
