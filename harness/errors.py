"""Errors that are the user's to mend: one line that says what is wrong, where, and what to do."""

from __future__ import annotations


class UserError(Exception):
    """Bad input of any kind. The message is one line; the command line exits with code 2."""


class DataError(UserError):
    """Data that is missing, unreadable or not of the expected form."""
