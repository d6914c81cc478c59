"""Comparison of runs on the steps they share.

    from reports.comparison.compare import compare_runs
    from reports.comparison.table import render
    print(render(compare_runs(["runs/a", "runs/b"]), "text"))

| module | content |
|---|---|
| `settings` | whether two runs can be compared, and in what they differ |
| `pairing` | steps and tasks shared by two runs, with both scores |
| `spent` | what units and successes take in both |
| `results` | a comparison as records, and its verdict in words |
| `compare` | differences, intervals, tests, power |
| `table` | the same as a frame, and as a grid that every format writes |
| `command` | `vlm-eval compare` |
"""
