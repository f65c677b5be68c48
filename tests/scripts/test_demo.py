"""The README's picture shows what `make demo` runs and finds, and what it finds is right."""

from __future__ import annotations

import html
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.suffixless import load_script
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PLACE = load_script("dev/make-picture").PLACE

RIGHT = {
    "limit the size of a request": "server/transport_security.py",
    "what if two tools have the same name": "server/mcpserver/tools/tool_manager.py",
    "which environment variables does a server process inherit": "client/stdio.py",
}
"""The file of the MCP SDK whose code does what is asked, by question of the demo. `RequestBodyLimitMiddleware` refuses
bodies that are too large, `ToolManager` warns of a second tool of a name and says which one stays,
`get_default_environment` picks the variables. The files were judged by reading the code; the questions were chosen
among those whose other phrasings find the same file, so they show a good case and not an average one."""

OTHER_WORDS = {
    "limit the size of a request": ["where is the size of a request limited", "how large may the body of a request be"],
    "what if two tools have the same name": ["how are duplicate tools handled", "is a duplicate tool name an error"],
    "which environment variables does a server process inherit": ["environment variables passed to the child process"],
}


def pictured() -> str:
    """Returns the text of the picture, without its markup."""
    drawing = (ROOT / "docs/images/terminal.svg").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^>]*>", "", drawing)).replace("\xa0", " ")


def questions() -> list[str]:
    """Returns the questions of `make demo`."""
    demo = (ROOT / "scripts/dev/demo").read_text(encoding="utf-8")
    return re.findall(r'^run search --top-k 1 "(.*)"$', demo, re.MULTILINE)


def test_the_picture_shows_the_first_commands_of_the_demo_and_right_answers() -> None:
    for words in load_script("dev/make-picture").commands():
        typed = " ".join(f'"{word}"' if " " in word else word for word in words)
        assert f"sidecar {typed}" in pictured()
        assert words[0] == "index" or RIGHT[words[-1]] in pictured()


def without_spaces(text: str) -> str:
    return re.sub(r"\s", "", text)


def demo_shell(home: Path) -> Callable[..., str]:
    """A function that runs a sidecar command on the demo's codebase and returns what it prints."""
    found = importlib.util.find_spec("mcp")
    assert found is not None and found.origin is not None
    codebase = str(Path(found.origin).parent)
    env = {**os.environ, "SIDECAR_HOME": str(home), "CI": "1", "PYTHONPATH": str(ROOT)}

    def sidecar(*words: str) -> str:
        command = [sys.executable, "-m", "sidecar", *words, "--workspace", codebase]
        printed = subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        ).stdout
        return printed.replace(codebase, PLACE)

    return sidecar


@pytest.mark.process
def test_each_first_answer_of_the_demo_is_right(tmp_path: Path) -> None:
    sidecar = demo_shell(tmp_path)
    sidecar("index")
    assert questions() == list(RIGHT)
    for question, path in RIGHT.items():
        for words in (question, *OTHER_WORDS[question]):
            assert sidecar("search", "--top-k", "1", words).startswith(f"{path}:"), words


@pytest.mark.process
def test_the_picture_shows_what_the_commands_print(tmp_path: Path) -> None:
    sidecar = demo_shell(tmp_path)
    for words in load_script("dev/make-picture").commands():
        for line in sidecar(*words).splitlines():
            measured = re.fullmatch(r"\d+\.\d s", line)
            assert measured or without_spaces(line) in without_spaces(pictured()), line
