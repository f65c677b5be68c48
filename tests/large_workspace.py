"""Searches a workspace whose vectors do not fit into memory, as `python -m tests.large_workspace WORK HOME`.

Only such a workspace keeps Chroma's process open. Here it is a small one without any memory for vectors. For each line
of standard input it answers a search with a line: the path of the best hit. It ends with its input.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sidecar.engine.models.loader import Models, make_embedder
from tests.engine.projects import Project, find, index


def main() -> None:
    work, home = Path(sys.argv[1]), Path(sys.argv[2])
    project = Project(work, home, {}, Models(make_embedder), [])
    project.keep_chroma()
    workspace = project.open()
    index(workspace)
    for query in sys.stdin:
        store = workspace.index.readable().store()
        assert store is not None, workspace.status().warning
        sys.stdout.write(f"{find(workspace, query.strip(), mode='vector')[0]}\n")
        sys.stdout.flush()
    project.close()


if __name__ == "__main__":
    main()
