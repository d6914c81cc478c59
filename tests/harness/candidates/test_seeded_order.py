from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from harness.candidates import SeededOrder

IDS = st.lists(st.text("0123456789abcdef-", min_size=1, max_size=8), max_size=40)


def test_the_key_is_the_documented_hash() -> None:
    def key(node_id: str) -> str:
        return hashlib.sha256(
            "\n".join(["7", "task", "step", "order", node_id]).encode()
        ).hexdigest()

    ids = [str(n) for n in range(100)]
    assert SeededOrder(7, "task", "step").sorted("order", ids) == sorted(ids, key=key)


@given(IDS, st.randoms(use_true_random=False))
def test_the_order_given_does_not_matter(ids: list[str], random: object) -> None:
    ranking = SeededOrder(42, "t", "u")
    shuffled = list(ids)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ranking.sorted("negative", shuffled) == ranking.sorted("negative", ids)
    assert set(ranking.sorted("negative", ids)) == set(ids)


@given(IDS, st.sets(st.text("0123456789", min_size=1, max_size=3)))
def test_ranks_do_not_depend_on_who_else_is_ranked(ids: list[str], others: set[str]) -> None:
    ranking = SeededOrder(42, "t", "u")
    together = ranking.sorted("negative", [*ids, *others])
    assert [i for i in together if i in set(ids)] == ranking.sorted("negative", ids)
