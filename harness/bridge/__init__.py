"""The bridge to Inspect AI: our protocols, run and logged by inspect_ai.

`solving` reads the arguments of a task and builds it, `scoring` has its scorer and metrics.
Importing either imports inspect_ai (`pip install '.[inspect]'`); the tasks themselves are in
`harness.bridge.tasks`, where inspect looks for them.
"""
