"""Tests which module may import which, that there are no import cycles, and that modules and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.sources import PACKAGE, ROOT, modules, nodes_of, text_of, tree_of

MODULES = modules()

VALUES = ("model", "errors", "locks", "lock_file", "logs", "processes", "shown", "small_files", "stdio")
SETTINGS = ("settings",)
SHARED_PARTS = (
    *("parts.paths", "parts.globs", "parts.languages", "parts.lexical.tokens", "parts.database", "parts.child"),
    *(
        "parts.git_config",
        "parts.git_places",
        "parts.pattern_index",
        "parts.pattern_limit",
        "parts.data_folder",
        "parts.own_file",
    ),
    *("parts.confine", "parts.blocks", "parts.encodings", "parts.encoded", "parts.reading_order"),
    *("parts.secrets.plain", "parts.asking", "parts.certificates", "parts.one_step", "parts.bags"),
)

# Parts that wrap no library but belong to the engine itself: the manifest in SQLite, and the lexical index in it.
ENGINE_PARTS = (
    *SHARED_PARTS,
    "parts.manifest",
    "parts.manifest_reads",
    "parts.left_out",
    "parts.coverage",
    "parts.slots",
    "parts.lexical",
)

ENGINE_VALUES = (*ENGINE_PARTS, *SETTINGS, *VALUES)

# The first prefix that fits decides. An entry allows a module and what is below it.
ALLOWED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("no_telemetry",)),
    ("__main__", ("early_interrupt", "surfaces", "daemon")),
    ("model", ("settings.values",)),
    ("no_telemetry", ()),
    ("early_interrupt", ()),
    ("lean", ("small_files",)),
    ("small_files", ()),
    ("shown", ()),
    ("errors", ("shown",)),
    ("lock_file", ("errors", "small_files")),
    ("processes", ()),
    ("stdio", ()),
    ("logs", ("shown",)),
    ("settings", VALUES),
    (
        "parts.walk",
        (
            *("parts.entries", "parts.files_limit", "parts.ignore", "parts.deny", "parts.secrets"),
            *(*SHARED_PARTS, *SETTINGS, *VALUES),
        ),
    ),
    ("parts.manifest_reads", (*SHARED_PARTS, *VALUES)),
    ("parts.manifest", ("parts.manifest_reads", "parts.left_out", "parts.coverage", *SHARED_PARTS, *VALUES)),
    ("parts.watch", ("parts.git_head", "parts.system_events", "parts.watched_folders", *SHARED_PARTS, *VALUES)),
    ("parts.git_head", ("parts.git_places", *SHARED_PARTS, *VALUES)),
    ("parts.git_attributes", ("parts.ignore", *SHARED_PARTS, *VALUES)),
    ("parts.git_index", ("parts.git_attributes", *SHARED_PARTS, *VALUES)),
    ("parts.slots", ("parts.manifest", *SHARED_PARTS, *VALUES)),
    ("parts.embed", ("parts.network", "parts.onnx_session", *VALUES, *SETTINGS, *SHARED_PARTS)),
    ("parts.team", ("parts.network", *VALUES, *SETTINGS, *SHARED_PARTS)),
    ("parts.shared_vectors", ("parts.network", "parts.vectors", *VALUES, *SETTINGS, *SHARED_PARTS)),
    ("parts.vectors", ("parts.onnx_session", *VALUES, *SETTINGS, *SHARED_PARTS)),
    ("parts", (*VALUES, *SETTINGS, *SHARED_PARTS)),
    # Modules in which the real parts enter the engine: constructors, open objects, and the engine's own processes.
    ("engine.wiring", ("engine", "parts", *SETTINGS, *VALUES)),
    ("engine.workspaces", ("engine", "parts.lease", *ENGINE_PARTS, *SETTINGS, *VALUES)),
    ("engine.every_index", ("engine", "parts.lease", *ENGINE_PARTS, *SETTINGS, *VALUES)),
    ("engine.doctor", ("engine", *ENGINE_PARTS, *SETTINGS, *VALUES)),
    ("engine.ingest.worker", ("engine", *ENGINE_PARTS, *SETTINGS, *VALUES)),
    # Models as the lists on disk describe them; loading and downloading one.
    ("engine.models", ("engine.index.layout", "parts.embed", "parts.lease", *ENGINE_PARTS, *SETTINGS, *VALUES)),
    # The packages of the engine, lowest first: each imports what stands above it here, and nothing else.
    ("engine.concurrency", (*VALUES,)),
    ("engine.search.typos", ("engine.search", "engine.concurrency", "parts.fuzzy", *ENGINE_VALUES)),
    ("engine.search", ("engine.concurrency", *ENGINE_VALUES)),
    ("engine.ports", (*ENGINE_VALUES,)),
    ("engine.ingest", ("engine.concurrency", "engine.ports", *ENGINE_VALUES)),
    ("engine.index", ("engine.ingest", "engine.concurrency", "engine.ports", "engine.models.facts", *ENGINE_VALUES)),
    (
        "engine.update",
        ("engine.index", "engine.ingest", "engine.concurrency", "engine.ports", "engine.models.facts", *ENGINE_VALUES),
    ),
    (
        "engine.team",
        ("engine.index", "engine.ingest", "engine.ports", "engine.models.facts", "parts.team", *ENGINE_VALUES),
    ),
    ("engine.diagnostics", ("engine.update", "engine.index", "engine.ingest", "engine.ports", *ENGINE_VALUES)),
    ("engine.extras", ("engine.ports", *ENGINE_VALUES)),
    ("engine.query_service", ("engine.search", "engine.update", "engine.index", "engine.concurrency", *ENGINE_VALUES)),
    ("engine.workspace", ("engine", *ENGINE_VALUES)),
    ("agents", VALUES),
    ("tools.assemble", ("tools", "engine", "parts.paths", *SETTINGS, *VALUES)),
    ("tools", ("tools", "engine", *SETTINGS, *VALUES)),
    ("surfaces", ("surfaces.loopback", "tools", "agents", "parts.paths", *SETTINGS, *VALUES)),
    ("daemon", ("daemon", "surfaces", "tools", *SETTINGS, *VALUES)),
    (
        "gen",
        (
            "gen",
            "agents.catalog",
            "tools",
            "surfaces.cli.options",
            "surfaces.cli.tool_options",
            "surfaces.http.openapi",
            *SETTINGS,
            *VALUES,
        ),
    ),
)

# Tables of words and patterns, not code to read.
PURE_TABLES = {"parts/chunk/tables.py", "parts/languages.py", "parts/deny.py", "settings/declare.py"}
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_CONSTRUCTOR_PARAMETERS = 7


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of(path: Path) -> tuple[tuple[str, bool], ...]:
    """Our modules that `path` imports, and whether only for type checking."""
    return tuple(found_imports(path))


def found_imports(path: Path) -> Iterator[tuple[str, bool]]:
    typing_only = {
        id(node)
        for branch in nodes_of(path)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        for node in ast.walk(branch)
    }
    for node in nodes_of(path):
        for target in targets(node, path):
            if target == "sidecar" or target.startswith("sidecar."):
                yield target.removeprefix("sidecar").lstrip("."), id(node) in typing_only


def targets(node: ast.AST, path: Path) -> Iterator[str]:
    """Absolute names; `from sidecar.parts import x` counts as `sidecar.parts.x` where that is a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = ("sidecar", *path.relative_to(PACKAGE).parts[:-1])
            base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            inner = ROOT.joinpath(*base.split("."), alias.name)
            is_module = inner.with_suffix(".py").is_file() or (inner / "__init__.py").is_file()
            yield f"{base}.{alias.name}" if is_module else base


def within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def package_of(module: str) -> str:
    """Returns the folder of a part, a surface or a package of the engine, from which its modules may always import."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] in {"parts", "surfaces", "engine"} else parts[0]


def may_import(module: str, target: str) -> bool:
    """Whether `target` is in the layer of `module` or below it."""
    allowed = next((names for prefix, names in ALLOWED if within(module, prefix)), ())
    own = module and within(target, package_of(module))
    return bool(not target or own or any(within(target, prefix) for prefix in allowed))


def test_every_module_imports_only_what_its_layer_may() -> None:
    wrong = [
        f"{module} imports {target}"
        for path in MODULES
        for target, typing_only in imports_of(path)
        if not typing_only and not may_import(module := name_of(path), target)
    ]
    assert wrong == []


def test_every_allowance_is_used() -> None:
    shared = {*VALUES, *SETTINGS, *ENGINE_PARTS}
    unused = {(prefix, name) for prefix, names in ALLOWED for name in names if name not in shared}
    for path in MODULES:
        rule = next(((prefix, names) for prefix, names in ALLOWED if within(name_of(path), prefix)), ("", ()))
        for target, _ in imports_of(path):
            unused -= {(rule[0], name) for name in rule[1] if within(target, name)}
    assert unused == set()


def test_no_module_imports_itself_through_others() -> None:
    names = {name_of(path) for path in MODULES}
    edges = {name_of(path): {t for t, typing in imports_of(path) if not typing and t in names} for path in MODULES}
    assert [" -> ".join(circle) for circle in circles(edges)] == []


def circles(edges: dict[str, set[str]]) -> Iterator[list[str]]:
    done: set[str] = set()

    def visit(module: str, trail: list[str]) -> Iterator[list[str]]:
        if module in trail:
            yield [*trail[trail.index(module) :], module]
            return
        if module in done:
            return
        for target in sorted(edges.get(module, ())):
            if target != module and target:
                yield from visit(target, [*trail, module])
        done.add(module)

    for module in sorted(edges):
        yield from visit(module, [])


def test_the_layer_check_sees_a_forbidden_import_and_a_circle(tmp_path: Path) -> None:
    found = list(targets(ast.parse("from sidecar.engine import wiring").body[0], PACKAGE / "parts" / "x.py"))
    assert found in (["sidecar.engine.wiring"], ["sidecar.engine"])
    assert list(targets(ast.parse("from ..errors import X").body[0], PACKAGE / "parts" / "x.py")) == ["sidecar.errors"]
    assert list(circles({"a": {"b"}, "b": {"a"}})) == [["a", "b", "a"]]


def test_a_module_is_at_most_600_lines_and_its_functions_60() -> None:
    found = [too_long(name, text_of(path), nodes_of(path)) for name, path in by_name().items()]
    assert [flaw for flaws in found for flaw in flaws] == []


def test_the_length_check_sees_a_long_module_and_a_long_function() -> None:
    def flaws(text: str) -> list[str]:
        return list(too_long("a.py", text, ast.walk(ast.parse(text))))

    assert flaws("x = 1\n" * MAX_MODULE_LINES) == []
    assert flaws("x = 1\n" * (MAX_MODULE_LINES + 1)) == ["a.py"]
    assert flaws("def long():\n" + "    pass\n" * MAX_FUNCTION_LINES) == ["a.py: long"]


def test_a_module_says_what_it_is_for() -> None:
    assert [n for n, path in by_name().items() if text_of(path).strip() and not ast.get_docstring(tree_of(path))] == []


def by_name() -> dict[str, Path]:
    """Every module of the package by its path in it."""
    return {path.relative_to(PACKAGE).as_posix(): path for path in MODULES}


def too_long(name: str, text: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yields the name of the module if it is too long, and the name of each of its functions that is too long."""
    if name not in PURE_TABLES and len(text.splitlines()) > MAX_MODULE_LINES:
        yield name
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length(node) > MAX_FUNCTION_LINES:
            yield f"{name}: {node.name}"


def length(node: ast.stmt) -> int:
    """Its lines, the first one and the last one included."""
    return (node.end_lineno or 0) - node.lineno + 1


def test_no_constructor_takes_more_than_seven_parameters() -> None:
    """A value may have many fields; an object with behaviour is built from few others."""
    long = [
        f"{name_of(path)}.{node.name} takes {count}"
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and (count := constructor_parameters(node)) > MAX_CONSTRUCTOR_PARAMETERS
    ]
    assert long == []


def constructor_parameters(node: ast.ClassDef) -> int:
    """How many parameters the constructor takes besides self.

    0 for values: frozen dataclasses, dataclasses without methods, and classes without an `__init__` of their own.
    """
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
    for method in methods:
        if method.name == "__init__":
            taken = method.args
            return len(taken.posonlyargs) + len(taken.args) + len(taken.kwonlyargs) - 1
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if not methods or not any(d.startswith("dataclass") and "frozen=True" not in d for d in decorators):
        return 0
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
    return sum("ClassVar" not in ast.unparse(f.annotation) and "init=False" not in ast.unparse(f) for f in fields)


def test_the_count_of_parameters_sees_constructors_written_and_generated() -> None:
    written = "class A:\n def __init__(self, a, /, b, *, c=1): ..."
    generated = "@dataclass(eq=False)\nclass B:\n a: int\n b: int = field(init=False)\n def act(self): ..."
    value = "@dataclass(frozen=True)\nclass C:\n a: int\n def __bool__(self): ..."
    record = "@dataclass\nclass D:\n a: int"
    classes = [ast.parse(text).body[0] for text in (written, generated, value, record)]
    assert [constructor_parameters(node) for node in classes if isinstance(node, ast.ClassDef)] == [3, 1, 0, 0]


@pytest.mark.process
def test_ruff_finds_no_complex_function_and_no_library_outside_its_owner() -> None:
    command = [sys.executable, "-m", "ruff", "check", "--select", "C901,TID251", "--quiet", "sidecar"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
