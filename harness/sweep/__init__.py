"""Many runs from one file.

    [defaults]                  # any option of `vlm-eval run`
    benchmark = "sample"
    [[run]]
    model = ["lexical", "random"]
    seed = [1, 2, 3]            # lists multiply

`file` reads such a file into cells, `planning` opens each once, `standing` reads how far their runs
are, and `schedule` divides what they may cost and runs each in a separate process (`child`). A cell
is an ordinary run, known only by its directory: a sweep continues after any kill. `sweep.json` has
only the result of reading the file.
"""
