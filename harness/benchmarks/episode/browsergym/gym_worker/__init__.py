"""Plays tasks of BrowserGym for `vlm-eval`, in the environment that BrowserGym is installed in.

This package runs as a program, under another Python than ours. It imports the standard library and
BrowserGym, and nothing else is there for it. Messages are lines of JSON on the standard streams:

    {"suite": "miniwob", ...}             options (`Player`), first and once
    ["ready", null]                       ["done", null]
    ["begin", {"task": ..., "seed": 7}]   ["done", {"goal": ..., "nodes": [...], ...}]
    ["act", "click('12')"]                the same; one or several calls of BrowserGym's functions
    ["type", [[3, 4], "mouse_click(...)"]]  the same, with nothing done if nothing there takes text
    ["refuse", "there is no such key"]    the same, with this error and nothing done
    ["tasks", null]                       ["done", {"tasks": [...], "versions": {...}}]

An answer of the kind "failed" says what went wrong, "fatal" what the user has to mend.
"""
