"""Multiplies a vector with thousands of rows of four-bit integers, by onnxruntime's `MatMulNBits`.

The rows are a constant of the graph, so that onnxruntime packs them once for the processor's integer instructions
(AVX2, VNNI, NEON). It rounds the vector to eight bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.parts.onnx_session import session_options

_ROUNDED = 4
"""The level at which onnxruntime rounds the vector to eight bits. Others compute with floats, which takes longer."""
_LARGEST_GROUP, _SMALLEST_GROUP = 256, 32
"""Numbers of a row that share a scale in onnxruntime. Fewer groups take less time; their size is a power of two."""

_FLOAT, _UINT8 = 1, 2
_IR_VERSION, _OPSET, _OPSET_OF_ONNXRUNTIME = 8, 13, 1


class FourBitProducts:
    """Multiplies with `rows`, each of `dimension` integers from 0 to 15 that stand for -8 to 7. Thread-safe.

    `packed` is uint8 of shape [rows, half of the dimension, rounded up]: two integers a byte, the first in the lower
    four bits. `scales`, float32 of shape [rows], are what 1 in a row stands for.
    """

    def __init__(self, packed: NDArray[np.uint8], scales: NDArray[np.float32], dimension: int) -> None:
        import onnxruntime

        graph = _graph(packed, scales, dimension)
        self._session: Any = onnxruntime.InferenceSession(graph, session_options(), providers=["CPUExecutionProvider"])
        # The session would keep the unpacked rows for another attempt with other providers, which is never made.
        vars(self._session).pop("_model_bytes", None)

    def __call__(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the inner products of a vector, shape [dimension], with all rows, shape [rows]. The error is that of
        rounding each number of the vector to 1/127 of the largest."""
        (products,) = self._session.run(None, {"vector": vector[None]})
        return np.asarray(products[0], np.float32)


# ---------------------------------------------------------------- a graph of one node, in the encoding of protobuf


def _graph(packed: NDArray[np.uint8], scales: NDArray[np.float32], dimension: int) -> bytes:
    """Returns the ONNX model `products = MatMulNBits(vector, rows, scales)`. The rows, which are most of it, are copied
    only once."""
    count, group = len(packed), _group(dimension)
    groups = -(-dimension // group)
    if packed.shape[1] < groups * group // 2:
        packed = np.pad(packed, ((0, 0), (0, groups * group // 2 - packed.shape[1])))
    of_groups = np.repeat(scales.astype("<f4"), groups)
    content, rows = np.ascontiguousarray(packed), _described("rows", _UINT8, (count, groups, group // 2))
    tensor = rows + _varint(9 << 3 | 2) + _varint(content.nbytes)
    node = b"".join(_text(1, name) for name in ("vector", "rows", "scales")) + _text(2, "products")
    node += _text(4, "MatMulNBits")
    sizes = {"K": dimension, "N": count, "bits": 4, "block_size": group, "accuracy_level": _ROUNDED}
    node += b"".join(_field(5, _whole_number(name, value)) for name, value in sizes.items())
    before = _field(1, node + _text(7, "com.microsoft")) + _text(2, "compare")
    before += _varint(5 << 3 | 2) + _varint(len(tensor) + content.nbytes) + tensor
    after = _field(5, _described("scales", _FLOAT, (count * groups,)) + _field(9, of_groups.tobytes()))
    after += _field(11, _value("vector", _FLOAT)) + _field(12, _value("products", _FLOAT))
    graph = _varint(7 << 3 | 2) + _varint(len(before) + content.nbytes + len(after)) + before
    opsets = _field(8, _text(1, "") + _number(2, _OPSET))
    opsets += _field(8, _text(1, "com.microsoft") + _number(2, _OPSET_OF_ONNXRUNTIME))
    return b"".join((_number(1, _IR_VERSION), graph, content.data, after, opsets))


def _group(dimension: int) -> int:
    """Returns how many numbers of a row share a scale: as many as possible of those that divide the dimension."""
    group = _LARGEST_GROUP
    while group > _SMALLEST_GROUP and dimension % group:
        group //= 2
    return group


def _described(name: str, kind: int, shape: tuple[int, ...]) -> bytes:
    """Returns the description of a tensor, without its content."""
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name)


def _value(name: str, kind: int) -> bytes:
    """Returns the description of a matrix of any size."""
    shape = _field(1, b"") * 2
    return _text(1, name) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))


def _whole_number(name: str, value: int) -> bytes:
    """Returns an attribute that is a whole number."""
    return _text(1, name) + _number(3, value) + _number(20, 2)


def _number(key: int, value: int) -> bytes:
    return _varint(key << 3) + _varint(value)


def _text(key: int, value: str) -> bytes:
    return _field(key, value.encode())


def _field(key: int, content: bytes) -> bytes:
    return _varint(key << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Encodes a number with seven bits per byte, lowest first; all bytes except the last have their highest bit set."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes((*encoded, value))
