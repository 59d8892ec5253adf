"""Models behind one face: load any Hugging Face causal model, run it over a sequence and a tree. Only here are KV
caches known."""

from engine.model.bridge import Bridge, BridgedSession, bridge
from engine.model.load import load_model
from engine.model.model import Model
from engine.model.session import Forward, Session
from engine.model.tokens import Tokenizer

__all__ = ["Bridge", "BridgedSession", "Forward", "Model", "Session", "Tokenizer", "bridge", "load_model"]
