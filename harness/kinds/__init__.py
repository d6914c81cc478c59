"""Kinds of units: how each is asked about, listed and scored. Each folder is one kind."""
