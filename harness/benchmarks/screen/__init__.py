"""Recorded steps on screens."""
