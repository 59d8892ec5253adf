"""Trees of draft tokens: how one grows level by level, and the fixed shape of a static one as plain data."""
