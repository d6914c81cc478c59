"""Parts of `benchmarks/same_results.py`, which runs two revisions and compares what they write."""
