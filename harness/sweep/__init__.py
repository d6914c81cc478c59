"""Several runs in one line: models, benchmarks and other options that multiply.

    vlm-eval -m lexical -m random -b sample -b mt-sample
    vlm-eval --config seeds.toml        # model = ["lexical", "random"], seed = [1, 2, 3]

`planning` makes cells of the options, opens each once and reads how far it is; `command` carries
them out one after the other. A cell is an ordinary run, known only by its directory: after any
interruption, the same line goes on.
"""
