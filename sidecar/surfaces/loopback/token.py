"""The token of a serving process: made when it starts, and stored in a file that only its user can read."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from sidecar import shown
from sidecar.errors import ConfigInvalid, PermissionDenied
from sidecar.settings.home import data_home
from sidecar.small_files import open_to_read

MIN_CHARACTERS = 16
"""Shorter tokens are refused."""
MAX_BYTES = 4096
"""Larger token files are refused."""
_PRIVATE = 0o600


class TokenFile:
    """A token and the file that holds it. `own`: the file was made for this process alone."""

    def __init__(self, path: Path, token: str, *, own: bool) -> None:
        self.path = path
        self.token = token
        self._own = own

    def close(self) -> None:
        """Removes the file if it was made for this process alone."""
        if self._own:
            self.path.unlink(missing_ok=True)


def of(file: str, port: int) -> TokenFile:
    """Returns the token in `file`; if `file` is empty, a new token for the process that listens on `port`.

    Raises `ConfigInvalid` and `PermissionDenied`.
    """
    if file:
        return named(Path(file).expanduser().absolute())
    return fresh(data_home(os.environ) / "serve", port)


def named(path: Path) -> TokenFile:
    """Returns the token in this file, which is made if it is missing. The file is kept when the process ends.

    Raises `PermissionDenied` if other users can read the file or this process cannot, and `ConfigInvalid` if it holds
    no usable token.
    """
    try:
        if not path.exists():
            return TokenFile(path, _write(path), own=False)
        facts = path.stat()
        if os.name == "posix" and stat.S_IMODE(facts.st_mode) & 0o077:
            raise PermissionDenied(
                f"Others can read the token file {shown.place(path)}; run: chmod 600 {shown.place(path)}"
            )
        with open_to_read(path) as file:
            content = file.read(MAX_BYTES + 1)
        token = content.decode("ascii").strip() if len(content) <= MAX_BYTES else ""
    except OSError as error:
        raise PermissionDenied(f"The token file {shown.place(path)} cannot be used: {shown.reason(error)}.") from error
    except UnicodeDecodeError:
        token = ""
    if len(token) < MIN_CHARACTERS or not all("!" <= letter <= "~" for letter in token):
        raise ConfigInvalid(
            f"The token file {shown.place(path)} must hold one line of at least {MIN_CHARACTERS} visible ASCII "
            f"characters; "
            "remove the file and a new one is made."
        )
    return TokenFile(path, token, own=False)


def fresh(folder: Path, port: int) -> TokenFile:
    """Makes a new token for the process that listens on `port`, in a file in `folder`.

    The folder is made with mode 0700. Raises `PermissionDenied`.
    """
    path = folder / f"{port}.token"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)  # left by a killed process: this one has the port now
        return TokenFile(path, _write(path), own=True)
    except OSError as error:
        raise PermissionDenied(
            f"The token file {shown.place(path)} cannot be written: {shown.reason(error)}."
        ) from error


def _write(path: Path) -> str:
    """Makes the file with its final mode, so that other users can never read it, and returns its new token."""
    token = secrets.token_urlsafe(32)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token
