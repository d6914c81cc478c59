"""One run, from its settings to its numbers: what the commands call."""
