"""Copies of any data set on the Hugging Face hub, in our columns, read like local files.

    --data hf://datasets/OWNER/NAME
    --data hf://datasets/OWNER/NAME@REVISION/CONFIG

The rows of a split are streamed once, to a parquet file in the user's cache; without a network, a
copy is all that is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from adapters.digests import cache_folder, write_cached
from adapters.hub import OFFLINE, hub_error
from harness.benchmarks.files import DataFile
from harness.benchmarks.hub import newest, otherwise, translated
from harness.benchmarks.hub_stream import HubData, Wanted, facts_of, write
from harness.errors import DataError, suggestion

_COMMIT = re.compile(r"[0-9a-f]{40}")
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class HubCopy:
    """Copies of some splits, in our columns.

    Attributes:
        files: a parquet file for each split; its digest is that of the rows' content.
        origin: repository, commit and configuration.
        columns: all columns of the data set.
    """

    files: tuple[DataFile, ...]
    origin: dict[str, object]
    columns: tuple[str, ...]


def copied(
    source: HubData, wanted: Wanted, splits: Sequence[str] | None = None, patience_s: float = 10
) -> HubCopy:
    """Return copies of some splits of a data set, streaming those that there are not yet.

    Args:
        source: the data set.
        wanted: what to copy.
        splits: None for `test`, or for the only one.
        patience_s: seconds to wait for the hub's first answer.

    Raises:
        DataError: the hub cannot be reached, or has no such data set, configuration or split, or a
            row cannot be read; the message says what else can be done.
    """
    at = pinned(source, patience_s)
    root = _root(source) / str(at.revision) / (source.config or "default")
    files, columns = [], dict[str, None]()
    for split in _chosen(source, splits, _known_splits(at, root)):
        path = root / f"{split}.{wanted.digest}.parquet"
        if not path.is_file():
            _refuse_offline(source)
            with _readable(source):
                write(path, at, split, wanted)
        facts = facts_of(path)
        columns |= dict.fromkeys(facts.columns)
        name = f"{source.config or 'default'}/{split}"
        files.append(DataFile(path, split, name, facts.size, facts.sha256))
    origin = {"origin": "hub", "repo": source.repo, "revision": at.revision}
    config = {"config": source.config} if source.config else {}
    return HubCopy(tuple(files), {**origin, **config}, tuple(columns))


def _root(source: HubData) -> Path:
    return cache_folder() / "hub" / source.repo.replace("/", "--")


def pinned(source: HubData, patience_s: float = 10) -> HubData:
    """Return the same at a commit: the one asked for, the hub's newest, or offline the last copy.

    Raises `DataError`.
    """
    if source.revision and _COMMIT.fullmatch(source.revision):
        return source
    if not _is_offline():
        commit = newest(source.repo, source.revision, patience_s)
        return source._replace(revision=commit)
    copies = sorted(_root(source).glob("*"), key=lambda path: path.stat().st_mtime)
    if source.revision or not copies:
        _refuse_offline(source)
    return source._replace(revision=copies[-1].name)


def _is_offline() -> bool:
    from huggingface_hub import constants

    return bool(constants.is_offline_mode())


def _refuse_offline(source: HubData) -> None:
    if _is_offline():
        told = hub_error(OSError(OFFLINE), source.repo, "dataset", None, otherwise(source.repo))
        raise DataError(told)


def _known_splits(source: HubData, root: Path) -> list[str]:
    """Return the splits of a configuration, in its order."""
    path = root / "splits.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        pass
    _refuse_offline(source)
    with _readable(source):
        from datasets import (
            get_dataset_config_names,
            get_dataset_default_config_name,
            load_dataset_builder,
        )

        configs = get_dataset_config_names(source.repo, revision=source.revision)
        usual = get_dataset_default_config_name(source.repo, revision=source.revision)
        if source.config not in configs and (source.config or (len(configs) > 1 and not usual)):
            which = f"no configuration '{source.config}'; {suggestion(source.config, configs)}"
            several = f"the configurations {', '.join(configs)}"
            raise DataError(
                f"{source.repo} has {which if source.config else several}: name one behind the "
                "address, hf://datasets/OWNER/NAME/CONFIG"
            )
        builder = load_dataset_builder(source.repo, source.config or None, revision=source.revision)
        named = builder.config.data_files or builder.info.splits or ()
    known = [str(split) for split in named if _NAME.fullmatch(str(split))]
    write_cached(path, msgspec.json.encode(known))
    return known


def _chosen(source: HubData, splits: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    for split in splits or ():
        if split not in known:
            raise DataError(f"{source} has no split '{split}'; {suggestion(split, known)}")
    if splits:
        return list(dict.fromkeys(splits))
    if "test" in known or len(known) == 1:
        return ["test"] if "test" in known else list(known)
    raise DataError(f"{source} has the splits {', '.join(known)}: choose with --split")


@contextmanager
def _readable(source: HubData) -> Iterator[None]:
    """Turn whatever `datasets`, the hub's client and pyarrow raise into one-line `DataError`s."""
    with translated(source.repo, source.revision):
        try:
            yield
        except DataError:
            raise
        except Exception as error:
            from datasets.table import CastError

            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__  # `datasets` wraps what happened.
            if isinstance(cause, OSError):
                raise cause from None
            told = str(cause)
            if isinstance(cause, CastError):
                told = f"the columns of its files differ: {cause.details()}"
            reason = (told.splitlines() or [type(cause).__name__])[0].rstrip(".")
            raise DataError(
                f"{source} cannot be read ({reason}); {otherwise(source.repo)}"
            ) from error
