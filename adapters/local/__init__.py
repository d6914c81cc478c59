"""Models that run on this machine: loaded, batched, and asked round after round.

Nothing is imported here: naming a local model costs no import of torch.
"""
