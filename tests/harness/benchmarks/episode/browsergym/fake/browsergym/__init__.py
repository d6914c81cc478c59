"""Stands in for BrowserGym in tests of the worker."""
