"""What a `Lab` does with its models: read assets, run several times in a row, mine."""
