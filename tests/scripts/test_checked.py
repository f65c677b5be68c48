"""A script without a suffix is no module to mypy unless pyproject.toml names it."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_mypy_is_given_every_python_script() -> None:
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["files"]
    assert {"sidecar", "tests", "scripts"} <= set(checked)
    plain = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix]
    in_python = [path for path in plain if "python" in path.read_text("utf-8").partition("\n")[0]]
    assert in_python
    assert [path.name for path in in_python if f"scripts/{path.name}" not in checked] == []
