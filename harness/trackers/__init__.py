"""Trackers: services that receive live metrics of a run (`--track`).

    from harness.trackers.config import open_trackers

    trackers = open_trackers(["trackio", "wandb:my-project"])

`contract` has the interface of a tracker, `tracking` the observer that `--track` opens, and `feed`
the thread that each tracker has: nothing that it does comes back into the run. No service's package
is imported before the service is named.
"""
