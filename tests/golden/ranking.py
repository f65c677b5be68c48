"""The order in which search answers fixed queries over a small frozen repository, as text that a person can read."""

from __future__ import annotations

from pathlib import Path

from tests.engine.search_index import small_index

FOLDER = Path(__file__).parent
EXPECTED = FOLDER / "expected.txt"
_DEPTH = 5


def rank_all(scratch: Path) -> str:
    """For each line of `queries.txt` the first five hits; `docs:` before a query searches the documentation."""
    root = FOLDER / "repository"
    files = {p.relative_to(root).as_posix(): p.read_text("utf-8") for p in sorted(root.rglob("*")) if p.is_file()}
    lines = []
    with small_index(scratch, files) as index:
        for line in (FOLDER / "queries.txt").read_text("utf-8").splitlines():
            docs = line.startswith("docs: ")
            query = line.removeprefix("docs: ")
            hits = index.search(query, collection="docs" if docs else "code", top_k=_DEPTH).hits
            lines += [line, *(f"    {hit.path}:{hit.start_line}" for hit in hits), ""]
    return "\n".join(lines)
