"""Models that run on this machine: loaded and asked in batches."""
