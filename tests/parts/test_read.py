"""Reading: encodings, newlines, links, and files that change under the reader."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar import errors
from sidecar.parts.read import ATTEMPTS, ChangedWhileReading, decode, read_file

LIMIT = 1_000_000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_comes_out_the_same_whatever_the_encoding(encoding: str) -> None:
    text = "zwölf\nBoxkämpfer 漢字 🙂\n"
    assert decode(text.encode(encoding))[0] == text


def test_big_endian_marks_are_known() -> None:
    assert decode(b"\xfe\xff" + "ä".encode("utf-16-be"))[:2] == ("ä", "utf-16-be")


def test_western_text_that_is_not_utf8_is_read_as_windows_1252() -> None:
    assert decode("Größe = 1\n".encode("latin-1"))[:2] == ("Größe = 1\n", "cp1252")


def test_newlines_are_one_kind() -> None:
    assert decode(b"a\r\nb\rc\n\r\n")[0] == "a\nb\nc\n\n"


@pytest.mark.parametrize("raw", [b"\x89PNG\r\n\x1a\n\0\0", bytes(range(1, 32)) * 20, b"text" * 100 + b"\0"])
def test_binary_is_told_from_text(raw: bytes) -> None:
    assert decode(raw)[:2] == ("", "binary")


def test_terminal_colours_are_text() -> None:
    assert decode(b"\x1b[31mred\x1b[0m\n" * 10)[1] == "utf-8"


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_decoder_and_the_text_can_be_stored(raw: bytes) -> None:
    text = decode(raw).text
    assert text.encode("utf-8").decode("utf-8") == text
    assert "\r" not in text


def test_a_read_has_the_hash_of_the_bytes_and_the_stat(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_bytes(b"x\r\n")
    content = read_file(str(tmp_path), "a.c", LIMIT)
    assert content.text == "x\n"
    assert content.sha256 == hashlib.sha256(b"x\r\n").digest()
    assert (content.stat.size, content.stat.inode) == (3, (tmp_path / "a.c").stat().st_ino)


def test_a_decomposed_name_is_read_by_its_normal_form(tmp_path: Path) -> None:
    (tmp_path / "e\u0301.c").write_text("x")
    assert read_file(str(tmp_path), "\u00e9.c", LIMIT).text == "x"


def test_links_out_of_the_root_are_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.c").write_text("x")
    (root / "file.c").symlink_to(outside / "a.c")
    (root / "folder").symlink_to(outside)
    for path in ("file.c", "folder/a.c", "../outside/a.c", "a\0.c"):
        with pytest.raises(errors.PathTraversal):
            read_file(str(root), path, LIMIT)


def test_missing_large_and_special_files_have_their_errors(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("x" * 11)
    os.mkfifo(tmp_path / "pipe")
    for path in ("none.c", "a.c/b", "x" * 300):
        with pytest.raises(errors.FileNotFound):
            read_file(str(tmp_path), path, LIMIT)
    with pytest.raises(errors.FileExcluded):
        read_file(str(tmp_path), "a.c", 10)
    for path in ("pipe", ""):
        with pytest.raises(errors.FileExcluded):
            read_file(str(tmp_path), path, LIMIT)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_forbidden_file_is_permission_denied(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("x")
    (tmp_path / "a.c").chmod(0)
    with pytest.raises(errors.PermissionDenied):
        read_file(str(tmp_path), "a.c", LIMIT)


def test_a_file_that_changes_once_is_read_again(tmp_path: Path) -> None:
    target, reads = tmp_path / "a.c", list[int]()
    target.write_text("old")

    def reread(descriptor: int, size: int) -> bytes:
        reads.append(size)
        raw = os.read(descriptor, size + 1)
        if len(reads) == 1:
            target.write_text("newer text")
        return raw

    assert read_file(str(tmp_path), "a.c", LIMIT, reread=reread).text == "newer text"
    assert reads == [3, 10]


def test_a_file_replaced_while_being_read_is_read_again(tmp_path: Path) -> None:
    target, reads = tmp_path / "a.c", list[int]()
    target.write_text("old")

    def reread(descriptor: int, size: int) -> bytes:
        reads.append(size)
        if len(reads) == 1:
            (tmp_path / "tmp").write_text("new")
            (tmp_path / "tmp").replace(target)
        return os.read(descriptor, size + 1)

    assert read_file(str(tmp_path), "a.c", LIMIT, reread=reread).text == "new"


def test_a_file_that_never_rests_is_not_indexed_as_if_it_had(tmp_path: Path) -> None:
    target, reads = tmp_path / "a.c", list[int]()
    target.write_text("x")

    def reread(descriptor: int, size: int) -> bytes:
        reads.append(size)
        with target.open("a") as file:
            file.write("x")
        return os.read(descriptor, size)

    with pytest.raises(ChangedWhileReading):
        read_file(str(tmp_path), "a.c", LIMIT, reread=reread)
    assert len(reads) == ATTEMPTS
