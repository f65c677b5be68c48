"""Takes out of the environment that it runs in what no door opens: `python -I -m sidecar.lean FOLDER`.

For an environment that somebody makes for sidecar alone, as the editor's extension does. FOLDER is that environment's,
so that nobody thins out another one by mistake. Only files that an installed distribution lists as its own are touched,
and its list (`RECORD`) is kept true: pip can check, replace and remove the distribution afterwards. A second run finds
nothing to do. Prints one line; ends with status 2 and changes nothing if FOLDER is not the environment that runs it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import struct
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sidecar.small_files import replace_file

FOLDERS = frozenset({"test", "tests"})
"""Folders of a library's own tests."""
KINDS = frozenset({".pyi", ".pxd", ".pyx", ".pxi", ".h", ".hpp", ".hh", ".c", ".cc", ".cpp", ".a", ".lib", ".proto"})
"""What type checkers and compilers read."""
UNUSED = (
    "onnxruntime/capi/libonnxruntime.so.*",  # for programs in C: the extension module has the whole runtime in it
    "onnxruntime/transformers/**",  # these three make and change models
    "onnxruntime/quantization/**",
    "onnxruntime/tools/**",
    "numpy/f2py/**",  # these two build extension modules
    "numpy/distutils/**",
    "numpy/_core/_simd.*",  # these two are for numpy's own tests
    "numpy/_core/_*_tests.*",
    "numpy/fft/**",  # numpy imports these three when somebody asks for them; `numpy.unique` needs `numpy.ma`
    "numpy/polynomial/**",
    "numpy/random/**",
    "rapidfuzz/fuzz_cpp*",  # ratios, where we use distances; the package then imports the same in Python
    "chromadb/experimental/**",
)
"""Files of single libraries, as patterns of paths. `tests/e2e/test_installed.py` walks every door without them."""
_ELF_64 = b"\x7fELF\x02\x01"


def lean(site: Path) -> tuple[int, int]:
    """How many files went or became smaller, and the bytes gained, in one folder of installed distributions."""
    files = gained = 0
    for record in sorted(site.glob("*.dist-info/RECORD")):
        found = Distribution(site, record)
        files += found.changed
        gained += found.gained
    return files, gained


class Distribution:
    """One distribution made lean, in the constructor. `changed` files and `gained` bytes say what that did."""

    def __init__(self, site: Path, record: Path) -> None:
        self.changed = self.gained = 0
        self._site = site
        rows = list(csv.reader(io.StringIO(record.read_text("utf-8"))))
        kept = [row for row in map(self._row, rows) if row]
        if kept != rows:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(kept)
            replace_file(record, text.getvalue().encode(), record.stat().st_mode)

    def _row(self, row: list[str]) -> list[str]:
        """The row of `RECORD` as it is to be; empty for a file that is gone."""
        listed = PurePosixPath(row[0])
        path = self._site / listed
        # A link leads to somebody else's file, and a path with .. out of this folder: both stay as they are.
        if ".." in listed.parts or listed.is_absolute() or path.is_symlink() or not path.is_file():
            return row
        if is_unused(listed):
            self._remove(path)
            return []
        if listed.suffix == ".so" or ".so." in listed.name:
            return self._without_symbols(path, row)
        return row

    def _remove(self, path: Path) -> None:
        compiled = [Path(importlib.util.cache_from_source(str(path)))] if path.suffix == ".py" else []
        for file in (path, *compiled):
            if file.is_file():
                self.gained += file.stat().st_size
                self.changed += 1
                file.unlink()
        for folder in empty_folders(self._site, path, compiled):
            folder.rmdir()

    def _without_symbols(self, path: Path, row: list[str]) -> list[str]:
        whole = path.read_bytes()
        loaded = what_is_loaded(whole)
        if len(loaded) == len(whole):
            return row
        # A new file: another name of the former one, as uv's cache has, keeps what it has.
        replace_file(path, loaded, path.stat().st_mode)
        self.changed += 1
        self.gained += len(whole) - len(loaded)
        digest = base64.urlsafe_b64encode(hashlib.sha256(loaded).digest()).rstrip(b"=").decode()
        return [row[0], f"sha256={digest}", str(len(loaded))]


def is_unused(listed: PurePosixPath) -> bool:
    """Whether no door opens this file, by its path in the folder of installed distributions."""
    if listed.parts[0].endswith(".dist-info"):
        return False
    if listed.suffix in KINDS or not FOLDERS.isdisjoint(listed.parts[1:-1]):
        return True
    return any(matches(listed, pattern) for pattern in UNUSED)


def matches(listed: PurePosixPath, pattern: str) -> bool:
    """`a/**` is everything below `a`; anything else is matched part by part."""
    below = pattern.removesuffix("/**")
    return PurePosixPath(below) in listed.parents if below != pattern else listed.match(pattern)


def empty_folders(site: Path, removed: Path, compiled: list[Path]) -> Iterator[Path]:
    """The folders below `site` that nothing is left in, innermost first; each is gone when the next is asked for."""
    for start in [*compiled, removed]:
        for folder in start.parents:
            if folder == site:
                break
            if folder.is_dir():
                if any(folder.iterdir()):
                    break
                yield folder


def what_is_loaded(library: bytes) -> bytes:
    """A shared library of Linux (ELF, 64 bits) without what follows its last segment: symbol tables, debug information
    and the table of sections. The loader reads segments only. Any other file, and a library that has nothing there,
    comes back as it is."""
    if not library.startswith(_ELF_64):
        return library
    table, sections = struct.unpack_from("<QQ", library, 32)
    size, count = struct.unpack_from("<HH", library, 54)
    ends = [table + size * count]
    for at in range(table, table + size * count, size):
        offset, _, _, length = struct.unpack_from("<4Q", library, at + 8)
        ends.append(offset + length)
    if sections == 0 or max(ends) >= len(library):
        return library
    header = bytearray(library[: max(ends)])
    struct.pack_into("<Q", header, 40, 0)
    struct.pack_into("<HH", header, 60, 0, 0)
    return bytes(header)


def main() -> int:
    """The status of the process."""
    words = [Path(word) for word in sys.argv[1:]]
    ours = sys.prefix != sys.base_prefix and len(words) == 1 and words[0].is_dir() and words[0].samefile(sys.prefix)
    if not ours:
        sys.stderr.write("Nothing was removed: say the folder of the virtual environment that runs this.\n")
        return 2
    files, gained = lean(Path(sysconfig.get_path("purelib")))
    sys.stdout.write(f"Files removed, or rid of what is never loaded: {files}; {gained / 1e6:.0f} MB less.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
