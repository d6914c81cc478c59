"""What is kept between rounds: found by ids, taken once, let go as soon as it may."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from adapters.contract import Generation
from adapters.local.contract import Generated, Loaded
from adapters.local.generate import Generator
from tests.local.conftest import Load
from tests.local.examples import Talk, go_on, ids_of, reference, stopping_at, talks


@pytest.fixture
def loaded(load: Load) -> Loaded:
    return load("qwen2-vl")


def begun(loaded: Loaded, count: int, seed: int = 0) -> tuple[Generator, list[Talk]]:
    """A generator that has answered the first round of some dialogues."""
    generator = Generator(loaded)
    open_talks = talks(loaded.model, count, seed)
    go_on(open_talks, ids_of(generator.run([talk.work(loaded.model) for talk in open_talks])))
    return generator, open_talks


def test_memory_is_let_go_with_the_last_row_and_shrinks_with_half_of_them(loaded: Loaded) -> None:
    generator, open_talks = begun(loaded, 4)
    layer = weakref.ref(generator.cohorts._cohorts[0].cache.layers[0])
    whole = generator.cohorts.nbytes
    generator.release(open_talks[0].step_id)
    assert generator.cohorts.nbytes == whole
    generator.release(open_talks[2].step_id)
    assert 0 < generator.cohorts.nbytes <= whole // 2
    works = [open_talks[n].work(loaded.model) for n in (1, 3)]
    results = generator.run(works)
    assert ids_of(results) == [reference(loaded, work) for work in works]
    assert generator.stats.reused == 2
    for talk in open_talks:
        generator.release(talk.step_id)
    assert (len(generator.cohorts), generator.cohorts.nbytes) == (0, 0)
    del results
    gc.collect()
    assert layer() is None


def test_a_last_round_leaves_nothing_behind(loaded: Loaded) -> None:
    generator, open_talks = begun(loaded, 3)
    generator.run([talk.work(loaded.model, continues=False) for talk in open_talks])
    assert len(generator.cohorts) == 0


def test_rows_that_come_later_find_their_keys_untouched(loaded: Loaded) -> None:
    generator, open_talks = begun(loaded, 5)
    for part in ((3, 0), (4, 1), (2,)):
        works = [open_talks[n].work(loaded.model, continues=False) for n in part]
        assert ids_of(generator.run(works)) == [reference(loaded, work) for work in works]
    assert generator.stats.reused == 5
    assert len(generator.cohorts) == 0


def test_only_rows_that_go_on_are_kept(loaded: Loaded) -> None:
    generator = Generator(loaded)
    open_talks = talks(loaded.model, 4)
    works = [t.work(loaded.model, continues=n in (1, 2)) for n, t in enumerate(open_talks)]
    go_on(open_talks, ids_of(generator.run(works)))
    results = generator.run([talk.work(loaded.model, continues=False) for talk in open_talks])
    assert [bool(r.cached) for r in results if isinstance(r, Generated)] == [
        False,
        True,
        True,
        False,
    ]


def test_rounds_of_several_cohorts_may_share_a_batch_with_new_dialogues(loaded: Loaded) -> None:
    generator, first = begun(loaded, 3)
    second = talks(loaded.model, 3, seed=4)
    go_on(second, ids_of(generator.run([talk.work(loaded.model) for talk in second])))
    mixed = [first[2], second[0], talks(loaded.model, 1, seed=7)[0], first[0], second[1]]
    works = [talk.work(loaded.model) for talk in mixed]
    assert ids_of(generator.run(works)) == [reference(loaded, work) for work in works]
    assert generator.stats.reused == 4


def test_what_is_asked_for_first_is_kept_longest(loaded: Loaded) -> None:
    """Room for one of two cohorts: the earlier one stays, and both are answered alike."""
    generator, first = begun(loaded, 3)
    generator._room.budget = generator.cohorts.nbytes
    second = talks(loaded.model, 3, seed=4)
    go_on(second, ids_of(generator.run([talk.work(loaded.model) for talk in second])))
    assert (len(generator.cohorts), generator.stats.dropped) == (1, 1)
    for group in (first, second):
        works = [talk.work(loaded.model, continues=False) for talk in group]
        assert ids_of(generator.run(works)) == [reference(loaded, work) for work in works]
    assert (generator.stats.reused, generator.stats.recomputed) == (3, 3)


def test_nothing_is_kept_for_a_family_that_reads_everything_again(loaded: Loaded) -> None:
    family: Any = stopping_at(loaded, *loaded.family.stop_ids).family
    family.reusable = lambda before, now: False
    generator = Generator(replace(loaded, family=family))
    generator.run([talk.work(loaded.model) for talk in talks(loaded.model, 3)])
    assert len(generator.cohorts) == 0


def test_a_long_reply_grows_its_cache_in_steps(loaded: Loaded) -> None:
    """And a limit that nobody reaches takes no memory."""
    loaded = stopping_at(loaded)
    model = loaded.model
    generator = Generator(loaded)
    long = [
        talk.work(model, generation=Generation(max_tokens=300)) for talk in talks(model, 2, seed=5)
    ]
    assert ids_of(generator.run(long)) == [reference(loaded, work) for work in long]
    columns = generator.cohorts._cohorts[0].columns
    held = generator.cohorts.nbytes
    per_column = 2 * loaded.family.cache_bytes_per_token(model)
    assert columns * per_column <= held <= (columns + 128) * per_column


def test_parts_of_a_dialogue_that_read_alike_but_show_other_pictures_share_nothing(
    loaded: Loaded,
) -> None:
    (talk,) = [talk for talk in talks(loaded.model, 2) if talk.grids]
    generator = Generator(loaded)
    one = replace(talk.work(loaded.model), shown=(("one", "crop"),))
    (reply,) = ids_of(generator.run([one]))
    go_on([talk], [reply])
    work = talk.work(loaded.model)
    pictures = dict(work.encoded.pictures)
    pictures["pixel_values"] = -pictures["pixel_values"]
    encoded = replace(work.encoded, pictures=pictures)
    other = replace(work, encoded=encoded, shown=(("other", "crop"),))
    assert ids_of(generator.run([other])) == [reference(loaded, other)]
    assert generator.stats.reused == 0
    assert ids_of(generator.run([replace(work, shown=one.shown)])) == [reference(loaded, work)]
    assert generator.stats.reused == 1
