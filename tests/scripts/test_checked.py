"""Ruff and mypy check the Python scripts, which have no suffix; and no file names a script's path that does not
exist."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = ("bench", "train", "dev")
NAMED = re.compile(r"(?<![\w/.-])scripts/[\w./*-]*[\w*]")


def tools() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    return settings


def files_of(folder: str) -> Iterator[Path]:
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and not {"node_modules", "__pycache__", "golden"} & set(path.parts):
            yield path


def programs() -> list[Path]:
    return [path for path in files_of("scripts") if path.read_text("utf-8").startswith("#!")]


def in_python(path: Path) -> bool:
    return path.suffix == ".py" or "python" in path.read_text("utf-8").partition("\n")[0]


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def test_every_program_is_in_one_of_the_three_folders() -> None:
    assert {path.parent.relative_to(ROOT / "scripts").as_posix() for path in programs()} == set(FOLDERS)


def test_mypy_is_given_every_program_in_python_and_no_other_file() -> None:
    given = set(tools()["mypy"]["files"])
    assert given - {"sidecar", "tests", "scripts"} == set(names([path for path in programs() if in_python(path)]))


def test_ruff_reads_every_program_in_python_and_leaves_out_only_those_that_are_not() -> None:
    settings = tools()["ruff"]
    assert settings["extend-include"] == ["scripts/*/*"]
    left_out = [pattern for pattern in settings["extend-exclude"] if pattern.startswith("scripts/")]
    skipped = [path for path in files_of("scripts") if any(fnmatch(names([path])[0], pattern) for pattern in left_out)]
    assert [path for path in skipped if in_python(path)] == []
    assert [path for path in programs() if not in_python(path) and path not in skipped] == []


def texts() -> list[Path]:
    """Returns the files in which people or programs look up the path of a script. The changelog is left out, since it
    describes the past."""
    found = [
        path for path in sorted(ROOT.glob("*.*")) if path.suffix in (".md", ".toml") and path.name != "CHANGELOG.md"
    ]
    found += [ROOT / "Makefile", ROOT / "extension/package.json", *(ROOT / "models").glob("*/*.md")]
    found += [ROOT / "models/catalog.json", *ROOT.glob(".*.yaml"), *files_of(".github"), *files_of("scripts")]
    found += [
        path for folder in ("docs", "sidecar", "tests") for path in files_of(folder) if path.suffix in (".md", ".py")
    ]
    return [path for path in found if path != Path(__file__).resolve()]


def dead(text: str) -> list[str]:
    return [name for name in NAMED.findall(text) if not any(ROOT.glob(name))]


def test_every_script_that_a_text_names_exists() -> None:
    found = {path.relative_to(ROOT).as_posix(): dead(path.read_text("utf-8")) for path in texts()}
    assert {"Makefile", "docs/benchmarks.md", ".github/workflows/checks.yml"} <= set(found)
    assert {path: names for path, names in found.items() if names} == {}


def test_a_script_that_has_been_moved_is_seen() -> None:
    assert dead("Run `scripts/bench-quality`, then scripts/check-*.") == ["scripts/bench-quality", "scripts/check-*"]
    assert dead("Run `scripts/bench/bench-quality`, then scripts/bench/check-*.") == []
