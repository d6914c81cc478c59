"""Models on this machine by vLLM's engine, which runs in a separate process.

This module imports nothing: naming such a model costs no import of vLLM or torch.
"""
