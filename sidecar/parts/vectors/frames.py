"""Messages between a vector store and its worker process: a JSON header and arrays.

Each message is two blocks (`parts.blocks`): the header (UTF-8 JSON, whose `arrays` lists the dtype and shape of each
array) and the body (the arrays' raw bytes, one after the other). The two ends define what the messages mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.parts.blocks import FrameError, read_block, write_block

Frame: TypeAlias = tuple[dict[str, Any], list[NDArray[Any]]]

MAX_HEADER = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
_DTYPES = frozenset({"<i8", "<f4"})


def write_frame(stream: BinaryIO, header: dict[str, Any], arrays: Sequence[NDArray[Any]] = ()) -> None:
    """Writes one frame and flushes the stream. Arrays must be int64 or float32.

    Raises FrameError if they are not or the frame exceeds the limits, and OSError if the other end is gone.
    """
    packed = [np.ascontiguousarray(array) for array in arrays]
    described = [{"dtype": array.dtype.str, "shape": array.shape} for array in packed]
    if any(entry["dtype"] not in _DTYPES for entry in described):
        raise FrameError(f"an array is neither int64 nor float32: {described}")
    head = json.dumps({**header, "arrays": described}, ensure_ascii=False).encode()
    size = sum(array.nbytes for array in packed)
    if len(head) > MAX_HEADER or size > MAX_BODY:
        raise FrameError(f"a message of {len(head)} + {size} bytes is over the limit")
    write_block(stream, head)
    write_block(stream, *(array.tobytes() for array in packed))


def read_frame(stream: BinaryIO) -> Frame | None:
    """Returns the next frame, or None at the end of the stream. Its arrays are read-only. Raises FrameError or
    OSError."""
    head = read_block(stream, MAX_HEADER)
    if head is None:
        return None
    body = read_block(stream, MAX_BODY)
    if body is None:
        raise FrameError("the stream ended inside a frame")
    try:
        header = json.loads(head)
        return header, _unpack(header.pop("arrays"), body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FrameError(f"the header is malformed: {error}") from error


def _unpack(described: list[dict[str, Any]], body: bytes) -> list[NDArray[Any]]:
    """Returns the arrays of a body. Raises ValueError if the body does not fit their description."""
    arrays: list[NDArray[Any]] = []
    start = 0
    for entry in described:
        if entry["dtype"] not in _DTYPES:
            raise ValueError(entry["dtype"])
        dtype, shape = np.dtype(entry["dtype"]), tuple(int(side) for side in entry["shape"])
        count = math.prod(shape)
        if min(shape, default=0) < 0 or start + count * dtype.itemsize > len(body):
            raise ValueError(f"shape {shape} does not fit the body")
        arrays.append(np.frombuffer(body, dtype, count, start).reshape(shape))
        start += count * dtype.itemsize
    if start != len(body):
        raise ValueError("the body is longer than its arrays")
    return arrays
