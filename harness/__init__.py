"""Benchmarks, candidates, protocols, policies, the engine, runs, and the command line.

Part of vlm-web-eval.
"""

__version__ = "0.1.0"
