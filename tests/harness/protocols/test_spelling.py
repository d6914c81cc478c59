"""A prediction that is spelled as replies is read back as the same prediction."""

from __future__ import annotations

from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.protocols import NoneRule, lettering
from harness.protocols.seeact import TwoRounds
from harness.views import StepView
from parsers import OPERATIONS, Operation, Prediction, Status
from parsers.reply_text import tidy
from parsers.values import is_missing
from tests.harness.protocols.examples import choices, step, talk

VALUES = (
    st.text(min_size=1, max_size=40)
    .map(lambda text: " ".join(tidy(text.encode("utf-8", "ignore").decode()).split()))
    .filter(lambda text: not is_missing(text))
)
CHOICE_TEXTS = st.sampled_from(
    [
        "<a id=0> Home </a>",
        "<button id=1> ELEMENT: B ACTION: CLICK </button>",
        "<input id=2 value: none />",
        "<select id=3> <option> A. None </option>",
    ]
)


@given(
    none=st.sampled_from(get_args(NoneRule)),
    texts=st.lists(CHOICE_TEXTS, min_size=1, max_size=30),
    picked=st.none() | st.integers(0, 29),
    operation=st.sampled_from(OPERATIONS),
    value=VALUES,
)
@settings(max_examples=300, deadline=None)
def test_spelled_predictions_are_read_back(
    none: NoneRule, texts: list[str], picked: int | None, operation: Operation, value: str
) -> None:
    protocol = TwoRounds(none=none)
    listed = choices(protocol, *texts)
    given_value = "" if operation == "CLICK" else value
    if picked is None:
        wanted = Prediction.of(
            Status.NONE,
            letter=lettering(protocol, len(listed)).none,
            operation=operation,
            value=given_value,
        )
    else:
        choice = listed[picked % len(listed)]
        wanted = Prediction.of(
            Status.ANSWERED, choice.letter, choice.id, operation=operation, value=given_value
        )
    spelled = protocol.write(StepView(step(), listed), wanted)
    assert set(spelled) == set(protocol.places)
    dialogue = protocol.dialogue(StepView(step(), listed))
    _, found = talk(dialogue, [spelled[place] for place in protocol.places])
    assert found == wanted
