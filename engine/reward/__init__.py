"""Process reward models: what a step of a response is, and what a model says it is worth."""
