"""The bridge to Inspect AI: our protocols, run and logged by inspect_ai.

`arguments` reads the arguments of a task, `solving` builds the task, `scoring` has its scorer and
metrics. Importing any of these imports inspect_ai (`pip install '.[inspect]'`); the
tasks themselves are in `harness.bridge.tasks`, where inspect looks for them.
"""
