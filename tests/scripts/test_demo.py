"""The README's picture shows what `make demo` runs and finds, and what it finds is right."""

from __future__ import annotations

import html
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.suffixless import load_script
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]

RIGHT = {
    "where is a bearer token verified": "server/auth/middleware/bearer_auth.py",
    "reconnect after the stream broke, with a delay": "client/streamable_http.py",
    "stop the work when the caller cancels the request": "shared/jsonrpc_dispatcher.py",
}
"""By the demo's question: the file of the MCP SDK that answers it, found by reading."""


def pictured() -> str:
    """The text of the picture, without its markup."""
    drawing = (ROOT / "docs/images/terminal.svg").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^>]*>", "", drawing)).replace("\xa0", " ")


def questions() -> list[str]:
    """What `make demo` asks."""
    demo = (ROOT / "scripts/dev/demo").read_text(encoding="utf-8")
    return re.findall(r'^run search --top-k 1 "(.*)"$', demo, re.MULTILINE)


def test_the_picture_shows_the_first_commands_of_the_demo_and_right_answers() -> None:
    for words in load_script("dev/make-picture").commands():
        typed = " ".join(f'"{word}"' if " " in word else word for word in words)
        assert f"sidecar {typed}" in pictured()
        assert words[0] == "index" or RIGHT[words[-1]] in pictured()


@pytest.mark.process
def test_each_first_answer_of_the_demo_is_right(tmp_path: Path) -> None:
    found = importlib.util.find_spec("mcp")
    assert found is not None and found.origin is not None
    env = {**os.environ, "SIDECAR_HOME": str(tmp_path), "CI": "1", "PYTHONPATH": str(ROOT)}

    def sidecar(*words: str) -> str:
        command = [sys.executable, "-m", "sidecar", *words, "--workspace", str(Path(str(found.origin)).parent)]
        return subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        ).stdout

    sidecar("index")
    assert questions() == list(RIGHT)
    for question, path in RIGHT.items():
        assert sidecar("search", "--top-k", "1", question).startswith(f"{path}:")
