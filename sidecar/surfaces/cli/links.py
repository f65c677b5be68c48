"""Links in a terminal (OSC 8): text that a click opens. Written only to terminals that are known to understand them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "rio", "Tabby", "WarpTerminal"})
"""Values of TERM_PROGRAM that identify terminals with support for links."""
_TERMS = re.compile(r"(xterm-(kitty|ghostty)|alacritty|foot|wezterm|contour|rio)(-|$)")
_OWN_VARIABLES = frozenset({"KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "WT_SESSION", "DOMTERM"})
_LEAST_VTE = 5000
"""The first version of VTE (the terminal widget of GNOME, Xfce and others) without known faults in links."""
_LEAST_KONSOLE = 201200
_IN_BETWEEN = frozenset({"TMUX", "STY"})
"""Set by terminal multiplexers, which pass on the variables of the terminal around them, but not always its links."""


class Links:
    """Makes links to the files of a workspace, whose folder is `root`, for a terminal on the machine `host`.

    With `lines` a link also names the line, as a fragment. A terminal that does not expect a fragment would open
    nothing.
    """

    def __init__(self, root: str, host: str, *, lines: bool) -> None:
        self._root = root
        self._host = host
        self._lines = lines

    @classmethod
    def of(cls, env: Mapping[str, str], root: str) -> Links | None:
        """Returns the links for the terminal that the environment describes; None if that terminal is not known to show
        links."""
        if not root or not _shows_links(env):
            return None
        in_editor = env.get("TERM_PROGRAM") == "vscode"
        # The editor knows which machine its terminal runs on, and would take a host name for that of a network folder.
        return cls(root, "" if in_editor else _host(), lines=in_editor or _is_kitty(env))

    def around(self, text: str, path: str, line: int) -> str:
        """Returns `text`, which must be safe to print, as a link to a line of a file.

        `path` is absolute or relative to the workspace. The text is returned unchanged if no address can name the file.
        """
        address = self._address(path, line)
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\" if address else text

    def _address(self, path: str, line: int) -> str:
        from urllib.parse import quote

        try:
            # Only letters, digits and a few signs stay unescaped, so no file name can end the escape sequence.
            whole = quote(os.fsencode(os.path.join(self._root, path)), safe="/")  # noqa: PTH118 - as in the index
        except UnicodeEncodeError:
            return ""
        fragment = f"#{line}" if self._lines and line > 0 else ""
        return f"file://{quote(self._host)}{whole}{fragment}" if whole.startswith("/") else ""


def _shows_links(env: Mapping[str, str]) -> bool:
    if not _IN_BETWEEN.isdisjoint(name for name, value in env.items() if value):
        return False
    return (
        env.get("TERM_PROGRAM") in _PROGRAMS
        or _TERMS.match(env.get("TERM", "")) is not None
        or not _OWN_VARIABLES.isdisjoint(env)
        or _number(env.get("VTE_VERSION", "")) >= _LEAST_VTE
        or _number(env.get("KONSOLE_VERSION", "")) >= _LEAST_KONSOLE
    )


def _is_kitty(env: Mapping[str, str]) -> bool:
    return env.get("TERM") == "xterm-kitty" or "KITTY_WINDOW_ID" in env


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _host() -> str:
    import socket

    return socket.gethostname()
