"""Files of the Hugging Face hub, and what went wrong with it in one line for the user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from adapters.contract import Fatal

_PAGES = {"model": "https://huggingface.co/", "dataset": "https://huggingface.co/datasets/"}
_COMMIT = re.compile("[0-9a-f]{40}")
OFFLINE = "HF_HUB_OFFLINE is set and the cache lacks files of it"
_LOG_IN = "`hf auth login` or HF_TOKEN"


def hub_page(repo: str, kind: Literal["model", "dataset"]) -> str:
    """Return the address of a repository."""
    return _PAGES[kind] + repo


def downloaded(repo: str, revision: str | None, patterns: Sequence[str], otherwise: str) -> Path:
    """Return the folder with those files of a model's repository that match any of the patterns.

    Files that exist are not downloaded again. Raises `Fatal`; `otherwise` as in `hub_error`.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repo, revision=revision, allow_patterns=list(patterns)))
    except Exception as error:
        # The client's errors without a network differ between versions.
        raise Fatal(hub_error(error, repo, "model", revision, otherwise)) from error


def hub_error(
    error: Exception,
    repo: str,
    kind: Literal["model", "dataset"],
    revision: str | None,
    otherwise: str,
) -> str:
    """Describe an error of `huggingface_hub` or of its HTTP client.

    Args:
        error: what was raised.
        repo: owner and name on the hub.
        kind: what the repository holds.
        revision: the revision that was asked for.
        otherwise: what to do without the hub.
    """
    from huggingface_hub import constants, errors

    if isinstance(error, errors.GatedRepoError | errors.DisabledRepoError):
        return (
            f"{repo} is gated: accept its terms at "
            f"{hub_page(repo, kind)}, then run `hf auth login` or set HF_TOKEN"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{repo} on the hub has no revision {revision}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"the hub has no {kind} {repo}, or it is private ({_LOG_IN}); {otherwise}"
    if isinstance(error, errors.HFValidationError):
        return f"'{repo}' is neither a folder nor a {kind} id of the hub"
    if isinstance(error, errors.LocalEntryNotFoundError) and constants.is_offline_mode():
        error = OSError(OFFLINE)
    at = "" if revision is None or _COMMIT.fullmatch(revision) else f" at revision {revision}"
    return f"cannot get {repo}{at} from the hub ({_reason(error)}); {otherwise}"


def _reason(error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return f"it refuses access (HTTP {status}; {_LOG_IN})"
    if status is not None:
        return f"it answers with HTTP {status}"
    # The prefix says where in the client it was raised.
    text = (str(error).splitlines() or [""])[0].removeprefix("Got: ").removeprefix("ConnectError: ")
    return text or type(error).__name__
