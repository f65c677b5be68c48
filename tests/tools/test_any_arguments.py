"""Every tool over the real engine, with any arguments that its schema allows and many that it does not: the answer is a
result, a question or an error that names the fault. It is never an internal error, and always JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sidecar.errors import Internal, SidecarError
from sidecar.tools.assemble import make_service
from sidecar.tools.confirm import call_with_questions_sync
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.service import Done, Service
from sidecar.tools.spec import ToolSpec

pytestmark = pytest.mark.process
EXAMPLES = 40
AWKWARD = (
    "", " ", "\n", "\0", ".", "..", "../..", "/", "/etc/passwd", "a/../../b", "net.py", "./net.py", "net.py/", "C:\\x",
    "~", "*", "**", "**/*", "[", "[!", "{a", "{a,b}", "!x", "\\", "\ud800", "a\ud800b", "é", "ﬀ", "İ", "\u202e",
    '"', '"unclosed', "+must -not", "+", "-", "+-", '-"a b"', "AND", "NEAR(a b)", "x:y", "'; DROP TABLE chunks; --",
    "🦀" * 9, "default",
    "class", "a-b", "%", "_", "open connection", "open_connection", "a" * 5000, "(" * 500, "w " * 600,
)  # fmt: skip

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(AWKWARD)
    | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(AWKWARD[:40]), inner, max_size=4),
    max_leaves=8,
)


def fitting(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draws values of the field's type, within its limits and just outside."""
    if "$ref" in field:
        return fitting(definitions[field["$ref"].rsplit("/", 1)[-1]], definitions)
    if "anyOf" in field:
        return st.one_of([fitting(choice, definitions) for choice in field["anyOf"]])
    if "enum" in field:
        return st.sampled_from(field["enum"])
    kind = field.get("type")
    if kind == "array":
        return st.lists(fitting(field.get("items", {}), definitions), max_size=4)
    if kind == "object":
        inner = field.get("properties", {})
        known = st.fixed_dictionaries({}, optional={name: fitting(part, definitions) for name, part in inner.items()})
        return known | st.dictionaries(st.sampled_from(AWKWARD), anything, max_size=3)
    low, high = field.get("minimum", -2), field.get("maximum", 2**70)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(AWKWARD) | st.text(max_size=20),
        "boolean": st.booleans(),
        "integer": st.integers(int(low) - 1, int(high) + 1) | st.integers(int(low), int(low) + 5),
        "number": st.floats(float(low), float(high)),
    }
    return plain.get(kind, anything)


def arguments_of(tool: ToolSpec) -> st.SearchStrategy[dict[str, Any]]:
    schema = tool.input_schema()
    fields = {name: fitting(field, schema.get("$defs", {})) for name, field in schema["properties"].items()}
    required = {name: fields[name] for name in schema.get("required", ())}
    wild = {name: values | anything for name, values in fields.items()}
    good = st.fixed_dictionaries(required, optional={n: f for n, f in fields.items() if n not in required})
    bad = st.fixed_dictionaries({}, optional={**wild, "nonsense": anything, "confirm": anything})
    return good | good | bad


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any")
    (folder / "work").mkdir()
    (folder / "work" / "net.py").write_text("def open_connection(host):\n    return dial(host)\n")
    (folder / "work" / "guide.md").write_text("# Logging\n\nSet the level with LOG_LEVEL.\n")
    return folder


@pytest.fixture(scope="module")
def service(workspace: Path) -> Iterator[Service]:
    env = {**os.environ, "SIDECAR_HOME": str(workspace / "home")}
    service = make_service(env=env, toolsets="all")
    root = str(workspace / "work")
    call_with_questions_sync(service, "create_index", {}, workspace=root, ask=lambda question: "nobody")
    yield service
    service.close()


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
def test_whatever_is_asked_the_answer_is_a_result_or_says_what_is_wrong(
    tool: ToolSpec, service: Service, workspace: Path
) -> None:
    seen: list[str] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments_of(tool))
    def ask(arguments: dict[str, Any]) -> None:
        try:
            outcome = service.call(tool.name, arguments, workspace=str(workspace / "work"))
        except SidecarError as error:
            assert not isinstance(error, Internal), arguments
            json.dumps(tool.dialect.shape_error(error), allow_nan=False)
            seen.append(error.code)
        else:
            if isinstance(outcome, Done):
                json.dumps(outcome.value, allow_nan=False)
            seen.append("")

    ask()
    assert seen
