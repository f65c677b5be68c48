"""Checks by their sizes whether Chroma's HNSW files are intact, without loading them.

Loading incomplete files can crash a process, and a store whose process died while it wrote them never recovers. The
sizes were measured with Chroma 1.5.9: per element, `length.bin` has 4 bytes and `data_level0.bin` has 4 bytes for each
dimension and 140 more. A new store has space for 100 elements and no `index_metadata.pickle`; its vectors are in SQLite
until it writes these files for the first time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sidecar.shown import count
from sidecar.small_files import A_FOLDER, what_else

_FILES = ("header.bin", "length.bin", "data_level0.bin", "link_lists.bin")
_WRITTEN = "index_metadata.pickle"
_FIRST_ELEMENTS = 100
_LINKS_FLOOR = 1_000_000  # bytes; below that, the share of links means nothing
_WASTE_FLOOR = 10_000  # elements; below that, a rebuild gains nothing


def find_damage(directory: Path, dimension: int) -> str:
    """Returns what is wrong with the files; empty if nothing is. A directory without a store counts as intact."""
    for place in directory.rglob("*"):
        if (kind := what_else(place)) and kind != A_FOLDER:  # Chroma would open it and wait
            return f"{place.relative_to(directory)} is {kind}"
    segments = list(_segments(directory))
    if segments and not (directory / "chroma.sqlite3").is_file():
        return "chroma.sqlite3 is missing"
    return next((damage for segment in segments if (damage := _segment_damage(segment, dimension))), "")


def find_waste(directory: Path, dimension: int, rows: int) -> str:
    """Describes the waste if more than a third of the vectors in the files are deleted ones; else empty.

    `rows` is how many vectors are left. Chroma never reuses the place of a deleted vector. Small stores are not
    reported.
    """
    held = sum(_size(segment / "data_level0.bin") // _element_bytes(dimension) for segment in _segments(directory))
    if held > _WASTE_FLOOR and held > 1.5 * rows:
        return f"{count(held, 'vector')}, {held - rows:,} of them deleted"
    return ""


def _segments(directory: Path) -> Iterator[Path]:
    """Yields the folders with HNSW files. An empty folder has never been written to and is left out."""
    for entry in sorted(directory.iterdir()):
        if entry.is_dir() and any(entry.iterdir()):
            yield entry


def _segment_damage(segment: Path, dimension: int) -> str:
    """Returns what is wrong with the files of one segment; empty if nothing is."""
    missing = [name for name in _FILES if not (segment / name).is_file()]
    if missing:
        return f"{', '.join(missing)} missing in {segment.name}"
    lengths, data = _size(segment / "length.bin"), _size(segment / "data_level0.bin")
    if lengths % 4 or data % _element_bytes(dimension) or lengths // 4 != data // _element_bytes(dimension):
        return (
            f"length.bin ({lengths:,} bytes) and data_level0.bin ({data:,} bytes) in {segment.name} "
            f"do not match for dimension {dimension}"
        )
    if lengths // 4 != _FIRST_ELEMENTS and not (segment / _WRITTEN).is_file():
        return f"{_WRITTEN} missing in {segment.name}"
    links = _size(segment / "link_lists.bin")
    if links > _LINKS_FLOOR and links > data / 10:
        return f"link_lists.bin in {segment.name} has grown to {links:,} bytes"
    return ""


def _size(path: Path) -> int:
    """Returns the size of a file in bytes; 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


def _element_bytes(dimension: int) -> int:
    """Returns the bytes of one element in `data_level0.bin`."""
    return 4 * dimension + 140
