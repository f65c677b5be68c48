"""How large the index of a workspace is, for the shell to know before it opens the index."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.settings.home import data_home


def chunks_of(env: Mapping[str, str], root: str) -> int:
    """The number of chunks in the index of the workspace `root`; 0 if there is none, or none that can be read."""
    from sidecar.engine.every_index import chunks_in

    return chunks_in(data_home(env), root)
