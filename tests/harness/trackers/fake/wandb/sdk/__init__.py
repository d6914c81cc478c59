"""Stands in for wandb.sdk."""
