"""Published results, and whether they were measured like a run.

`source` reads them; `beside` splits them into those measured like a run and all others, by the keys
of `keys`. They are never ranked, neither among themselves nor against a run.
"""
