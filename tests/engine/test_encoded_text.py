"""Encoded data is neither found by its letters nor close to a question, and it is shown as it is."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator

import numpy as np
import pytest

from tests.engine.search_index import SmallIndex, small_index

RANDOM = random.Random(3)
COMMIT, UUID = "3f786850e387550fdab836ed7e6dc881de23001b", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
IMAGE = base64.b64encode(RANDOM.randbytes(6000)).decode()
PIECES = [piece for piece in IMAGE.replace("+", " ").replace("/", " ").rstrip("=").split() if 4 < len(piece) < 60]
SVG = f'<svg xmlns="http://www.w3.org/2000/svg">\n<image width="9" href="data:image/png;base64,{IMAGE}"/>\n</svg>\n'


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    files = {
        "assets/logo.svg": SVG,
        "assets/raw.py": f'LOGO = "{IMAGE}"\n',
        "src/release.py": f'PINNED = "{COMMIT}"\nTENANT = "{UUID}"\n\ndef release():\n    return PINNED\n',
        "src/session.py": "def refresh_session(token):\n    return login(token)\n",
    }
    with small_index(tmp_path_factory.mktemp("encoded"), files) as made:
        yield made


def test_no_piece_of_encoded_data_is_found_by_word(index: SmallIndex) -> None:
    assert len(PIECES) > 20
    assert [piece for piece in PIECES if index.paths(piece, mode="fts")] == []


def test_a_chunk_of_nothing_but_encoded_data_is_close_to_no_question(index: SmallIndex) -> None:
    with index.snapshot() as snapshot:
        rows = np.arange(len(snapshot.chunk_ids), dtype=np.int32)
        chunks = snapshot.stored_chunks(rows)
        vectors, _ = snapshot.vectors(rows)
    encoded = np.array([chunk.text in IMAGE and not chunk.enclosing for chunk in chunks])
    assert encoded.sum() >= 2
    assert not vectors[encoded].any()
    assert vectors[~encoded].any(axis=1).all()


def test_a_commit_id_and_a_uuid_are_found(index: SmallIndex) -> None:
    assert COMMIT[0].isdigit()
    assert index.paths(COMMIT, mode="fts") == ["src/release.py"]
    assert index.paths(UUID)[0] == "src/release.py"


def test_a_file_with_encoded_data_is_found_by_its_words_and_shown_whole(index: SmallIndex) -> None:
    hits = index.search("svg image href", mode="fts").hits
    assert hits[0].path == "assets/logo.svg"
    assert IMAGE[:200] in hits[0].content
    with index.snapshot() as snapshot:
        rows = [row for row, file in enumerate(snapshot.chunk_file) if snapshot.paths[file] == "assets/raw.py"]
        assert "".join(chunk.text for chunk in snapshot.stored_chunks(rows)) == f'LOGO = "{IMAGE}"'
