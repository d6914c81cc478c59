"""A suite that can be imported."""
