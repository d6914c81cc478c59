"""Trackers: services that receive live metrics of a run (`--track`).

`contract` has the interface of a tracker and its thread, `tracking` the observer that `--track`
opens. No service's package is imported before the service is named.
"""
