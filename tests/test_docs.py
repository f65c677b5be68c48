"""Pages for developers name files that exist; decision records say when they were made and whether they hold; settings
that a page shows can be used."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sidecar.engine.models.loader import resolve_model
from sidecar.settings.load import load_settings

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "README.md", "scripts/README.md")),
]
BLOCK = re.compile(r"^```json\n(.*?)^```", re.M | re.S)
NAMED = re.compile(r"(?<![\w/.-])(?:[\w-]+/)*[\w-]+\.(?:py|lua)\b")
BASES = [ROOT, *(ROOT / base for base in ("sidecar", "sidecar/engine", "sidecar/engine/search"))]
"""The folders to which paths in the pages are relative: `sidecar/tools/spec.py`, `engine/wiring.py`, `update/live.py`,
`rank/signals.py`."""


@cache
def ours() -> set[str]:
    """Returns the names of all modules, for names that are given without a folder."""
    return {path.name for folder in ("sidecar", "tests", "scripts") for path in (ROOT / folder).rglob("*.py")}


def dead(text: str, modules: set[str]) -> list[str]:
    """Returns the files that `text` names and that do not exist. Paths in other folders than ours are examples."""
    return [name for name in NAMED.findall(text) if is_ours(name) and not exists(name, modules)]


def is_ours(name: str) -> bool:
    first, _, rest = name.partition("/")
    return not rest or any((base / first).is_dir() for base in BASES)


def exists(name: str, modules: set[str]) -> bool:
    return any((base / name).is_file() for base in BASES) if "/" in name else name in modules


def test_every_file_that_a_page_names_exists() -> None:
    found = {page.relative_to(ROOT).as_posix(): dead(page.read_text("utf-8"), ours()) for page in PAGES}
    assert {page: names for page, names in found.items() if names} == {}


def test_a_file_that_has_been_moved_is_seen() -> None:
    text = "`engine/keeper.py`, `update/live.py`, keeper.py, live.py, `sidecar/none.py` and src/app.py"
    assert dead(text, ours()) == ["engine/keeper.py", "keeper.py", "sidecar/none.py"]


def sections_that_are_not_there(text: str) -> list[str]:
    """Returns the sections to which a page refers (`see "A large tree" above`) and that it does not have."""
    headings = set(re.findall(r"^#+ (.+?)$", text, re.M))
    return [name for name in re.findall(r'\bsee\s+"([^"]+)"', text) if name not in headings]


def test_every_section_of_its_own_that_a_page_refers_to_exists() -> None:
    found = {page.relative_to(ROOT).as_posix(): sections_that_are_not_there(page.read_text("utf-8")) for page in PAGES}
    assert {page: names for page, names in found.items() if names} == {}
    assert sections_that_are_not_there('## One\nsee "One" above, see\n"Two" below') == ["Two"]


@pytest.mark.parametrize("record", sorted((ROOT / "docs/decisions").glob("*.md")), ids=lambda path: path.stem)
def test_a_decision_record_has_its_number_its_date_and_its_status(record: Path) -> None:
    title, empty, status = record.read_text("utf-8").split("\n")[:3]
    assert title.startswith(f"# {record.name[:4]} ")
    assert empty == ""
    assert re.match(r"\*\d{4}-\d\d-\d\d\. (Accepted|Proposed|Superseded by \[\d{4}\]\(\S+\))\.", status), status


def settings_shown() -> list[Any]:
    """Each block of settings on a page of docs/."""
    blocks = [(page, text) for page in PAGES for text in BLOCK.findall(page.read_text("utf-8"))]
    own = [(page, json.loads(text)) for page, text in blocks if page.stem in ("team", "settings")]
    assert own
    return [pytest.param(shown, id=f"{page.stem}: {next(iter(shown))}") for page, shown in own]


@pytest.mark.parametrize("shown", settings_shown())
def test_settings_that_a_page_shows_are_valid_and_name_a_model_that_exists(shown: dict[str, Any]) -> None:
    filled = {key: "x" * 44 if value == "..." else value for key, value in shown.items()}
    settings = load_settings(None, None, {}, {}, filled)
    assert settings.problems == ()
    assert resolve_model(settings.model).entry.id
