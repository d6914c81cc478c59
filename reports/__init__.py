"""Runs as pandas frames and tables.

Part of vlm-web-eval.
"""
