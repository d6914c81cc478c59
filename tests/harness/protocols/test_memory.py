"""Which finished actions come back, in which order, and what of them fits: examples by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.embedding import Embedded
from harness.benchmarks.conversation.memory import (
    Order,
    Piece,
    bank,
    cosine,
    cut_left,
    nearest,
    piece,
    within,
)
from harness.dialogue import Embed, hold_turns
from parsers import count_tokens
from tests.conversations import past, turn

DIRECTIONS = {
    "north": (1.0, 0.0),
    "nearly north": (0.9, 0.1),
    "north-east": (1.0, 1.0),
    "east": (0.0, 1.0),
    "south": (-1.0, 0.0),
}


def found(
    query: str, texts: Sequence[str], count: int = 3, order: Order = "relevance"
) -> list[int]:
    """The positions of the nearest texts, each of which is embedded as its direction."""
    calls = nearest(Embed((query,), "query"), [Embed((t,), t) for t in texts], count, order)

    def embedded(call: object) -> Embedded:
        assert isinstance(call, Embed)
        return Embedded(tuple(DIRECTIONS[text] for text in call.texts))

    return hold_turns(calls, lambda asked: list(map(embedded, asked)))


def test_the_most_similar_come_first_or_in_their_order() -> None:
    texts = ["east", "south", "nearly north", "north-east"]
    assert found("north", texts) == [2, 3, 0]
    assert found("north", texts, order="time") == [0, 2, 3]
    assert found("south", texts, 2) == [1, 0]


def test_equal_texts_are_one_cluster_so_that_more_than_k_come_back() -> None:
    texts = ["east", "nearly north", "south", "nearly north", "north-east", "nearly north", "east"]
    assert found("north", texts, 1) == [1, 3, 5]
    assert found("north", texts, 2) == [1, 3, 5, 4]
    assert found("north", texts, 3) == [1, 3, 5, 4, 0, 6]
    assert found("north", texts, 3, "time") == [0, 1, 3, 4, 5, 6]


def test_of_equally_similar_ones_the_first_comes_first() -> None:
    assert found("north-east", ["south", "east", "north", "north-east"], 3) == [3, 1, 2]


def test_k_texts_or_fewer_all_come_back_and_nothing_is_embedded() -> None:
    for texts in ([], ["south"], ["south", "east", "north"]):
        calls = nearest(Embed(("north",), "query"), [Embed(tuple(texts), "all")], 3)
        with pytest.raises(StopIteration) as stop:
            next(calls)
        assert stop.value.value == list(range(len(texts)))


def test_a_vector_without_a_direction_is_like_nothing() -> None:
    assert cosine((0.0, 0.0), (1.0, 0.0)) == 0.0
    assert cosine((3.0, 4.0), (30.0, 40.0)) == pytest.approx(1.0)


def words(text: str) -> int:
    return len(text.split())


def pieces(*texts: str) -> list[Piece]:
    return [piece("user", text, 9, words) for text in texts]


@pytest.mark.parametrize(
    ("room", "left"),
    [
        (9, ["a page of five words", "a question", "an answer"]),
        (8, [" page of five words", "a question", "an answer"]),
        (5, [" words", "a question", "an answer"]),
        (4, ["a question", "an answer"]),
        (3, [" question", "an answer"]),
        (1, [" answer"]),
        (0, []),
        (-7, []),
    ],
)
def test_the_beginning_of_the_memory_is_cut(room: int, left: list[str]) -> None:
    kept = cut_left(pieces("a page of five words", "a question", "an answer"), room, words)
    assert [one.text for one in kept] == left
    assert sum(one.tokens for one in kept) == max(0, room)


def test_a_piece_loses_its_end() -> None:
    assert piece("user", "a page of five words", 3, words) == Piece("user", "a page of ", 3)


@given(st.text(max_size=400), st.integers(0, 60), st.booleans())
def test_what_is_kept_fits_and_is_as_long_as_it_can_be(text: str, limit: int, end: bool) -> None:
    kept = within(text, limit, count_tokens, end=end)
    assert count_tokens(kept) <= limit
    assert text.endswith(kept) if end else text.startswith(kept)
    if kept != text:
        more = len(kept) + 1
        assert count_tokens(text[-more:] if end else text[:more]) > limit


def test_long_texts_without_blanks_are_cut_as_well() -> None:
    text = "预订一张桌子" * 5_000
    assert 400 < count_tokens(within(text, 512, count_tokens)) <= 512


SNIPPET = bank([turn("Find a table", past("[b]  D -> CLICK", *"ABCDEFGH", positives=("4",)))])[0]


def test_few_elements_are_an_acceptable_one_and_four_drawn_by_hash() -> None:
    asked = SNIPPET.asked(42)
    assert asked[0] == "4" and len(set(asked)) == 5 and set(asked) <= set("12345678")
    assert asked == SNIPPET.asked(42) != SNIPPET.asked(1)
    assert SNIPPET.shown(42) == ("4", *"1235678")


def test_without_an_acceptable_element_five_are_drawn() -> None:
    nothing = bank([turn("Find a table", past("[b]  D -> CLICK", *"ABCDEFGH", positives=()))])[0]
    assert nothing.positive(42) is None and len(set(nothing.asked(42))) == 5


def test_an_acceptable_element_is_shown_whatever_its_rank() -> None:
    """The ranker's candidates need not have it among them."""
    low = past("[b]  H -> CLICK", "A", "B", positives=("8",))
    (snippet,) = bank([turn("Find a table", low)])
    assert snippet.asked(42)[0] == "8" and snippet.shown(42) == ("8", "1", "2")
