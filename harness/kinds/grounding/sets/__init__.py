"""Grounding: pictures of screens, and instructions that refer to a place on them.

A set is a module with a `GroundingSet` (`opening`); what all of them declare is in `boxes`.
"""
