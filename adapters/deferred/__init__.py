"""Requests that a provider answers within a day, in batches: a module per provider.

A batch is made of lines, one request each, in a file or a body of their own; its results are lines,
too, in any order. Nothing here waits or tries again: the engine owns time.
"""
