"""What is read from disk: where it lies, JSON that nobody vouches for, and presets. Plain data, no torch."""
