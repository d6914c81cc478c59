"""The commands `rank`, `recall` and `train-ranker`."""
