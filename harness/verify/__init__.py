"""Ask a deployment some cheap questions: does it see pictures as a run would assume?

A leaf: it makes calls of an adapter, judges them by pure rules, and writes a record.
"""
