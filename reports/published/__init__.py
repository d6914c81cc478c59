"""Published results, and whether they were measured like a run.

`source` reads them, `keys` describes a run by the same keys and compares the two, for tables
(`beside`) and reproductions. They are never ranked, neither among themselves nor against a run.
"""
