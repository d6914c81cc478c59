"""Reproductions: published rows, each with a command to reproduce it.

A file of this folder declares one; `outcome` reads them. `vlm-eval reproduce` carries one out
and compares the result with the published row of `reports.published`.
"""
