"""Values that are pickled quickly come back equal, of their own class, and as immutable as before."""

import pickle
from dataclasses import FrozenInstanceError

import pytest

from sidecar.model.files import Chunk, Definition
from sidecar.parts.lexical.analyse import DefinitionEntry

NAMED = Definition("parse", "method", 3, 9, depth=1, exported=False, signature="def parse(self)", container="Reader")
VALUES = [
    Chunk(1, 2, "a = 1\n\U0001f600", "code", ("a",), ("outer", "inner")),
    Chunk(1, 1, "", "text"),
    Definition("f", "function", 1, 1),
    NAMED,
    DefinitionEntry(NAMED, 4),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_value_comes_back_as_it_was(value: object, protocol: int) -> None:
    back = pickle.loads(pickle.dumps(value, protocol))
    assert back == value
    assert type(back) is type(value)
    assert hash(back) == hash(value)


def test_a_value_that_came_back_cannot_be_changed() -> None:
    back = pickle.loads(pickle.dumps(NAMED))
    with pytest.raises(FrozenInstanceError):
        back.name = "other"
