"""Live pages: worlds that agents act in, and the worker processes that they run in.

A world (`harness.live.contract.World`) begins episodes and carries out actions, in a process of its
own. `harness.live.pool.Worlds` lends such processes to dialogues, holds them to limits of time, and
replaces those that fail. `harness.live.browsing.BrowserWorld` is a world on pages in Chromium, on
which benchmarks build theirs.
"""
