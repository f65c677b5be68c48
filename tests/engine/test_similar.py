"""Find Similar leaves out the code from which it starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sidecar.engine.search.similar import find_similar
from sidecar.model.terms import never_cancelled
from tests.engine.search_index import SmallIndex, small_index

_STEPS = [
    f"    if order.total_{n} > limit_{n}:\n        report(order, 'total {n} of the order is above the limit')\n"
    for n in range(120)
]
LONG = "# Checks every total.\ndef check_orders(order):\n" + "".join(_STEPS) + "    return order\n\n\n"
OTHER = "def check_invoice(order):\n" + "".join(_STEPS[:8]) + "    return order\n"
NESTED = (
    "export function makeStore(name) {\n"
    + "".join(f"  const key{n} = load(name, {n});\n  if (!key{n}) throw new Error('no key {n}');\n" for n in range(60))
    + "  function readKey(at) {\n    return load(name, at);\n  }\n"
    + "".join(
        f"  const back{n} = load(name, {n});\n  if (!back{n}) throw new Error('no back {n}');\n" for n in range(60)
    )
    + "  return readKey;\n}\n"
)
JAR = "class Jar:\n" + "".join(
    f"    def expire_{n}(self, cookies):\n"
    + "".join(f"        cookies.remove(self.old_{n}_{m}, when=self.clock_{n}_{m})\n" for m in range(30))
    + "\n"
    for n in range(4)
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    files = {"src/orders.py": LONG + OTHER, "src/store.js": NESTED, "src/jar.py": JAR, "src/copy.py": OTHER}
    with small_index(tmp_path_factory.mktemp("similar"), files) as made:
        yield made


def places(index: SmallIndex, path: str, line: int, end_line: int = 0) -> list[tuple[str, int, int]]:
    with index.source() as source:
        hits = find_similar(source, path, line, end_line, 50, never_cancelled).hits
    return [(hit.path, hit.start_line, hit.end_line) for hit in hits]


@pytest.mark.parametrize("line", [1, 2, 100, 240, 244])
@pytest.mark.parametrize("end_line_after", [None, 3])
def test_no_piece_of_the_function_that_it_starts_from_is_an_answer(
    index: SmallIndex, line: int, end_line_after: int | None
) -> None:
    last = LONG.count("\n") - 2
    found = places(index, "src/orders.py", line, line + end_line_after if end_line_after else 0)
    assert not [place for place in found if place[0] == "src/orders.py" and place[1] <= last]
    assert found[0][0] in ("src/orders.py", "src/copy.py")


def test_the_function_around_a_nested_function_is_left_out_with_it(index: SmallIndex) -> None:
    nested = NESTED[: NESTED.index("function readKey")].count("\n") + 1
    assert not [place for place in places(index, "src/store.js", nested + 1) if place[0] == "src/store.js"]


def test_other_methods_of_the_same_class_are_answers(index: SmallIndex) -> None:
    found = [place for place in places(index, "src/jar.py", 10) if place[0] == "src/jar.py"]
    assert found
    assert all(start > 32 for _, start, _ in found)


def test_a_function_elsewhere_is_an_answer(index: SmallIndex) -> None:
    found = places(index, "src/copy.py", 3)
    assert any(path == "src/orders.py" for path, _, _ in found)
    assert not any(path == "src/copy.py" for path, _, _ in found)
