"""Identifies the repository of a working tree, so that its checkouts can share what is stored on a server."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from sidecar.parts.git_config import config_values
from sidecar.parts.git_places import git_folder, read_note, repository_above
from sidecar.small_files import TooLarge

_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:]+):(?!//)(?P<path>.+)")


def repository_of(root: str) -> str:
    """Returns where the working tree around `root` was cloned from, by the remote `origin`; without one, `folder:` and
    the root.

    A repository has the same name whether it was cloned by ssh or https, and with whose password.
    """
    try:
        address = _origin(repository_above(root))
    except (OSError, TooLarge):
        address = ""
    return _normal(address) if address else f"folder:{root}"


def _origin(tree: str) -> str:
    folder = git_folder(Path(tree)) if tree else None
    if folder is None:
        return ""
    shared = folder / (read_note(folder / "commondir") or ".")
    return next(iter(config_values(shared / "config", "remote.origin.url")), "")


def _normal(address: str) -> str:
    """Returns the host and path of an address: `host/a/b` for both `git@host:a/b.git` and `https://me@HOST/a/b`."""
    scp = _SCP.fullmatch(address)
    if scp is not None and "://" not in address:
        host, path = scp["host"], scp["path"]
    else:
        try:
            found = urlsplit(address)
            host, path = found.hostname or "", found.path
        except ValueError:
            host, path = "", address
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"
