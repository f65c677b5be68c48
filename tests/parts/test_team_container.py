"""The file of a team snapshot: its content is read back unchanged, and a file that is truncated, altered or too large
is refused."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from pathlib import Path

import pytest

from sidecar.errors import SnapshotUnusable
from sidecar.parts.team import container
from sidecar.parts.team.container import MAGIC, Packed, pack, unpack

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PARTS = {"rows": True, "numbers": True, "texts": False}


@pytest.fixture
def made(tmp_path: Path) -> Packed:
    parts = {}
    for name, content in (("rows", b"[1, 2, 3]" * 1000), ("numbers", random.Random(3).randbytes(5000))):
        (tmp_path / name).write_bytes(content)
        parts[name] = tmp_path / name
    return pack({"commit": "c"}, parts, tmp_path)


def opened(file: Path, folder: Path) -> dict[str, object]:
    folder.mkdir(exist_ok=True)
    return unpack(file, folder, PARTS)


def sealed(folder: Path, header: object, rest: bytes, magic: bytes = MAGIC) -> Path:
    """Writes a file with this header followed by these bytes."""
    packed = json.dumps(header).encode() if not isinstance(header, bytes) else header
    file = folder / "sealed"
    file.write_bytes(zstd.compress(magic + len(packed).to_bytes(4, "little") + packed + rest))
    return file


def test_parts_come_out_as_they_went_in_and_the_file_is_named_by_its_hash(made: Packed, tmp_path: Path) -> None:
    header = opened(made.path, tmp_path / "out")
    assert header["commit"] == "c"
    assert (tmp_path / "out/rows").read_bytes() == (tmp_path / "rows").read_bytes()
    assert (tmp_path / "out/numbers").read_bytes() == (tmp_path / "numbers").read_bytes()
    assert made.path.name == f"{made.sha256}.zst"
    assert [path.name for path in tmp_path.glob(".making*")] == []


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.9999])
def test_a_file_that_was_cut_off_is_refused(made: Packed, tmp_path: Path, share: float) -> None:
    content = made.path.read_bytes()
    made.path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(SnapshotUnusable, match=r"damaged or cut off|not a snapshot"):
        opened(made.path, tmp_path / "out")


def test_no_byte_can_be_altered_unnoticed(made: Packed, tmp_path: Path) -> None:
    content = made.path.read_bytes()
    chosen = random.Random(5)
    for _ in range(60):
        at = chosen.randrange(4, len(content))
        altered = bytearray(content)
        altered[at] ^= 1 << chosen.randrange(8)
        made.path.write_bytes(altered)
        try:
            opened(made.path, tmp_path / "out")
        except SnapshotUnusable:
            continue
        # The bit may be one that no reader uses, such as a flag of zstd. Then the content must be unchanged.
        assert (tmp_path / "out/rows").read_bytes() == (tmp_path / "rows").read_bytes()
        assert (tmp_path / "out/numbers").read_bytes() == (tmp_path / "numbers").read_bytes()


def test_a_file_that_would_unpack_to_much_more_than_its_size_is_refused_before_it_does(tmp_path: Path) -> None:
    much = container.SPARE_BYTES + 50_000_000
    for name, stated in (("stated", much), ("not stated", 9)):
        header = {"parts": [{"name": "rows", "size": stated, "sha256": "0"}, _part("numbers")]}
        with pytest.raises(SnapshotUnusable, match=r"more than 20 times|not what its header says"):
            opened(sealed(tmp_path, header, b"\0" * much), tmp_path / name)
        written = tmp_path / name / "rows"
        assert not written.exists() or written.stat().st_size == 9


def _part(name: str, content: bytes = b"") -> dict[str, object]:
    return {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize(
    ("header", "rest"),
    [
        ({"parts": [_part("rows")]}, b""),
        ({"parts": [_part("rows"), _part("numbers"), _part("../../evil")]}, b""),
        ({"parts": [_part("rows"), _part("numbers"), _part("rows")]}, b""),
        ({"parts": [_part("rows"), {**_part("numbers"), "size": -1}]}, b""),
        ({"parts": [_part("rows"), _part("numbers")]}, b"more"),
        ({"parts": [_part("rows"), "numbers"]}, b""),
        ({"parts": 7}, b""),
        ({}, b""),
        ([], b""),
        (b"[" * 100_000, b""),
        (b"\xff\xfe", b""),
        (b" " * (container.MAX_HEADER_BYTES + 1), b""),
    ],
)
def test_a_header_that_no_snapshot_has_is_refused(tmp_path: Path, header: object, rest: bytes) -> None:
    with pytest.raises(SnapshotUnusable, match=r"Its header|more than its header"):
        opened(sealed(tmp_path, header, rest), tmp_path / "out")
    assert not (tmp_path.parent / "evil").exists()


def test_what_is_no_snapshot_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(SnapshotUnusable, match="not a snapshot of sidecar"):
        opened(sealed(tmp_path, {}, b"", b"another program\n"), tmp_path / "out")
    page = tmp_path / "page"
    page.write_bytes(b"<!DOCTYPE html><title>Sign in</title>")
    with pytest.raises(SnapshotUnusable, match="damaged or cut off"):
        opened(page, tmp_path / "out")
