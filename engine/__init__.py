"""Speculative decoding as data: models, methods, traces and tasks."""
