"""Requests that a provider answers within a day, in batches: a module per provider.

A batch is a file or body of lines, one request each; its results are lines, too, in any order.
Nothing here waits or tries again: the engine owns time.
"""
