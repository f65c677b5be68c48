"""No library reports to its makers, whatever the user's environment says, whether the package, a script or a test
imports it."""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sidecar.no_telemetry import DROPPED, FIXED, keep_quiet

import pytest

from tests.kept_open import CONTRARY

ROOT = Path(__file__).resolve().parents[1]
US = "sidecar.no_telemetry"


def said(home: Path, code: str) -> str:
    """Returns what `code` prints in a process of a user whose environment asks for all telemetry."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **CONTRARY}
    line = [sys.executable, "-P", "-c", code]
    done = subprocess.run(line, cwd=home, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.process
@pytest.mark.parametrize("module", ["__main__", "parts.embed.onnx", "parts.vectors.chroma_worker", "model"])
def test_any_module_of_ours_quiets_its_process(tmp_path: Path, module: str) -> None:
    code = f"import os, sidecar.{module}\nprint(dict(sorted(os.environ.items())))"
    variables = ast.literal_eval(said(tmp_path, code))
    assert {name: variables.get(name) for name in FIXED} == FIXED
    assert [name for name in variables if name.startswith(DROPPED) and name not in FIXED] == []


def test_each_variable_is_contradicted_by_the_user_of_these_tests_and_none_of_that_stays() -> None:
    environment = dict(CONTRARY)
    keep_quiet(environment)
    assert environment == FIXED
    assert {name for name in FIXED if CONTRARY.get(name, FIXED[name]) == FIXED[name]} == set()


@pytest.mark.process
def test_onnxruntime_leaves_no_device_id_and_no_events(tmp_path: Path) -> None:
    said(tmp_path, "import sidecar.model.files, onnxruntime")
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.process
def test_no_spans_are_recorded_where_the_user_has_set_opentelemetry_up(tmp_path: Path) -> None:
    code = (
        "import sidecar.model.files\n"
        "import mcp.server\n"
        "from opentelemetry.trace import get_tracer\n"
        "print(get_tracer('mcp-python-sdk').start_span('tools/call').is_recording())"
    )
    assert said(tmp_path, code) == "False"


@pytest.mark.process
def test_chroma_is_imported_without_what_would_send_its_traces(tmp_path: Path) -> None:
    modules = ast.literal_eval(said(tmp_path, "import sys, sidecar.model, chromadb\nprint(sorted(sys.modules))"))
    assert "chromadb" in modules
    assert not {"grpc", "google.protobuf"} & set(modules)


def imports(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of each import that is not the standard library's, within functions too."""
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            if name.split(".")[0] not in sys.stdlib_module_names:
                yield getattr(node, "lineno", 0), name


def begins_with_us(text: str) -> bool:
    found = sorted(imports(text))
    return not found or found[0][1].split(".")[0] == "sidecar"


FIRST_IN_FOLDER = [ROOT / "tests" / "conftest.py", ROOT / "scripts" / "__init__.py"]


def programs() -> list[Path]:
    """The scripts in Python, and the first module of each package beside ours."""
    scripts = [path for path in sorted((ROOT / "scripts").glob("*/*")) if path.is_file() and not path.suffix]
    assert scripts
    return FIRST_IN_FOLDER + [path for path in scripts if path.read_text("utf-8").startswith("#!/usr/bin/env python")]


@pytest.mark.parametrize("path", programs(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_program_imports_us_before_any_library(path: Path) -> None:
    assert begins_with_us(path.read_text("utf-8")), f"{path} must import {US} before any library"


REPORTING = {"chromadb", "huggingface_hub", "mcp", "onnxruntime", "opentelemetry", "pydantic", "tokenizers"}


def started(text: str) -> Iterator[str]:
    """The programs in strings of a module, which it may start with an environment of its own."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            with contextlib.suppress(SyntaxError):
                ast.parse(node.value)
                yield node.value


def reports_first(program: str) -> bool:
    """Whether a program imports a library that reports to its maker before it imports us."""
    for name in (name.split(".")[0] for _, name in sorted(imports(program))):
        if name == "sidecar" or name in REPORTING:
            return name != "sidecar"
    return False


def test_a_program_that_a_test_or_script_starts_imports_us_before_a_library_that_reports() -> None:
    here = Path(__file__).resolve()
    modules = [path for folder in ("tests", "scripts", "sidecar") for path in (ROOT / folder).rglob("*.py")]
    modules = [path for path in (*modules, *programs()) if path != here and "node_modules" not in path.parts]
    assert {str(path) for path in modules if any(map(reports_first, started(path.read_text("utf-8"))))} == set()
    assert reports_first("import os\nimport onnxruntime\nimport sidecar.model")
    assert not reports_first("import numpy\nimport sidecar.model\nimport onnxruntime")


@pytest.mark.parametrize("path", FIRST_IN_FOLDER)
def test_what_is_imported_before_the_modules_of_a_folder_imports_us(path: Path) -> None:
    assert US in [name for _, name in imports(path.read_text("utf-8"))]


def test_the_order_of_imports_is_seen() -> None:
    assert begins_with_us("import os\nimport sidecar.model\nimport onnxruntime")
    assert not begins_with_us("import os\nimport onnxruntime\nimport sidecar.model")
    assert not begins_with_us("def f():\n    from tokenizers import Tokenizer\nimport sidecar")
    assert not begins_with_us("import chromadb.config")
