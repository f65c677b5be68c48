"""Settings in git's configuration files: read as git reads them, in as many steps as the file has letters."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sidecar.parts import git_config
from sidecar.parts.git_config import config_values
from sidecar.parts.git_places import user_attributes_file
from sidecar.parts.repository import repository_of

URL = "remote.origin.url"
WRITTEN = {
    "plain": '[remote "origin"]\n\turl = https://host/a.git\n',
    "spaces": '  [remote   "origin"]  \n url   =  https://host/a b \t \n',
    "CRLF": '[remote "origin"]\r\n\turl = https://host/a\r\n\tfetch = x\r\n',
    "one line": '[remote "origin"] url = one\n',
    "another case": '[REMOTE "origin"]\nURL = one\n[remote "Origin"]\nurl = two\n',
    "quotes": '[remote "origin"]\nurl = "  a # b; c  " d "e"  \n',
    "comments": '# [remote "origin"]\n; url = no\n[remote "origin"] ; url = no\n#url = no\nurl = yes # no\n',
    "escapes": '[remote "origin"]\nurl = a\\\\b\\"c\\tj\n',
    "goes on": '[remote "origin"]\nurl = a\\\n  b\\\nc\nurl = "d \\\n e"\n',
    "no continued comment": '[remote "origin"]\nurl = a # b \\\nurl = c\n',
    "brackets": '[remote "ori]gin"]\nurl = no\n[remote "origin"]\nurl = [a]\n',
    "escaped section": '[remote "or\\igin"]\nurl = a\n[remote "ori\\"gin"]\nurl = no\n',
    "old section": "[remote.origin]\nurl = a\n",
    "several": '[remote "origin"]\nurl = a\nurl = b\n[core]\nurl = no\n[remote "origin"]\nurl = c\n',
    "no section": "url = no\n",
    "empty": "",
    "no value": '[remote "origin"]\nurl =\n',
}


@pytest.mark.process
def test_a_setting_has_the_values_that_git_reads(tmp_path: Path) -> None:
    for name, text in WRITTEN.items():
        config = tmp_path / name
        config.write_bytes(text.encode())
        words = ["git", "config", "--file", str(config), "--null", "--get-all", URL]
        said = subprocess.run(words, capture_output=True, text=True, check=False)
        assert config_values(config, URL) == said.stdout.split("\0")[:-1], name


MANY = 20_000
HOSTILE = {
    "a section that does not end": "[" + " " * MANY + "x",
    "a section of spaces": ("[" + " " * 40) * (MANY // 41),
    "a section without its quote": '[remote "' + "\\" * MANY,
    "a value of spaces": '[remote "origin"]\nurl = ' + (" " * 50 + "x") * (MANY // 51) + " " * MANY,
    "a value without its quote": '[remote "origin"]\nurl = "' + " " * MANY,
    "a value on many lines": '[remote "origin"]\nurl = ' + "\\\n" * MANY,
    "many sections": '[remote "origin"]' * (MANY // 17),
    "many lines": '[remote "origin"]\n' + "url\n" * (MANY // 4),
    "many signs": "[a]\n" + "=" * MANY,
}


def steps(call: Callable[[], Any]) -> int:
    """Returns how many lines of the reader a call runs."""
    counted = 0

    def note(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        counted += event == "line" and frame.f_code.co_filename == git_config.__file__
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted


@pytest.mark.parametrize("name", HOSTILE)
def test_a_strangers_configuration_is_read_once_from_its_beginning_to_its_end(tmp_path: Path, name: str) -> None:
    config = tmp_path / ".git/config"
    config.parent.mkdir()
    config.write_text(HOSTILE[name])
    reads: list[Callable[[], str]] = [
        lambda: repository_of(str(tmp_path)),
        lambda: user_attributes_file({"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}, config),
    ]
    for read in reads:
        assert 0 < steps(read) < 20 * MANY
