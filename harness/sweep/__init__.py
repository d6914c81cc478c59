"""Many runs from one file.

    [defaults]                  # any option of `vlm-eval run`
    benchmark = "sample"
    [[run]]
    model = ["lexical", "random"]
    seed = [1, 2, 3]            # lists multiply

`file` reads such a file into cells, `planning` opens each once, `standing` reads how far their runs
are, `money` divides what they may cost, and `schedule` runs them, each as a process of its own
(`child`). A cell is an ordinary run: its directory is all that is known of it, so that a sweep goes
on after any kill. `sweep.json` has only what the file came to.
"""
