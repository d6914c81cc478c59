"""Live pages: worlds for agents to act in, and the worker processes that run them.

A world (`harness.live.contract.World`) begins episodes and carries out actions in a separate
process. `harness.live.pool.Worlds` lends such processes to dialogues, enforces time limits, and
replaces processes that fail. `harness.live.browsing.BrowserWorld` is the base class of benchmarks'
worlds on pages in Chromium.
"""
