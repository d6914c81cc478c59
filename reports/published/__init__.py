"""Published results, and whether they were measured like a run.

`source` reads them, `keys` describes a run as they are described, `matching` compares the two for
tables (`beside`) and reproductions. They are never ranked, neither among themselves nor against a
run.
"""
