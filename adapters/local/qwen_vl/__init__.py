"""A new implementation of the original Qwen-VL (Qwen-VL-Chat, SeeClick).

The published code of these checkpoints does not run on current transformers. This package computes
the same from the checkpoints' own weights and vocabulary, without remote code.
`docs/local-models.md` says what was checked against what. Importing the package loads neither
torch nor transformers.
"""
