"""Cases: what the recording of a preset must show, and how one is recorded and found."""
