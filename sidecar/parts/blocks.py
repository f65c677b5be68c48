"""Blocks of bytes over a pipe to a process of our own, each behind its length (8 bytes, little-endian).

The two ends decide what a block contains: pickled messages (`engine.ingest.worker_process`) or a header and arrays
(`vectors.frames`).
"""

from __future__ import annotations

import struct
from typing import BinaryIO

MAX_BLOCK = 1 << 31
"""The maximum size of a block in bytes. Indexed files are far smaller."""
_LENGTH = struct.Struct("<Q")


class FrameError(ValueError):
    """The received bytes are malformed or exceed a limit. The pipe must not be used any more."""


def write_block(stream: BinaryIO, *pieces: bytes) -> None:
    """Writes the pieces as one block and flushes the stream. Raises OSError if the other end is gone."""
    stream.write(_LENGTH.pack(sum(map(len, pieces))))
    for piece in pieces:
        stream.write(piece)
    stream.flush()


def read_block(stream: BinaryIO, most: int = MAX_BLOCK) -> bytes | None:
    """Returns the next block, or None at the end of the stream.

    Raises FrameError when the block has more than `most` bytes or the stream ends inside it, and OSError.
    """
    prefix = stream.read(_LENGTH.size)
    if not prefix:
        return None
    if len(prefix) == _LENGTH.size:
        (size,) = _LENGTH.unpack(prefix)
        if size > most:
            raise FrameError(f"a block of {size} bytes is over the limit of {most}")
        block = stream.read(size)
        if len(block) == size:
            return block
    raise FrameError("the stream ended inside a block")
