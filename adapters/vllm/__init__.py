"""Models on this machine by vLLM's engine, which runs in a process of its own.

Nothing is imported here, so that naming such a model costs no import of vLLM or torch.
"""
