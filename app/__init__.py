"""The page. It uses the engine; the engine never uses it."""
