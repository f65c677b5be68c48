"""The size of a workspace's index, which the shell has to know before it opens the index."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.settings.home import data_home


def chunks_of(env: Mapping[str, str], root: str) -> int:
    """Returns the number of chunks in the index of the workspace `root`; 0 if no index can be read."""
    from sidecar.engine.every_index import chunks_in

    return chunks_in(data_home(env), root)
