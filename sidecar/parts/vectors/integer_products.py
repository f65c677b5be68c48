"""Multiplies a few vectors of small integers with thousands of rows of int8, by onnxruntime's `MatMulInteger`.

The rows are a constant of the graph, so that onnxruntime packs them once for the processor's integer instructions
(VNNI, AMX, NEON). Rows that are an input would be packed again at each run, which takes longer than comparing float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.parts.onnx_session import session_options

_ZERO = 64
"""The number that is added to a digit to make it unsigned, as the processor's instructions require."""
MOST_DIGIT = 63
"""The largest absolute value of a digit. Unsigned digits then have seven bits. With eight, processors without VNNI
would overflow: they add pairs of products in 16 bits, in which 2 * 127 * 127 fits, but 2 * 255 * 127 does not."""

_UINT8, _INT8, _INT32 = 2, 3, 6
_IR_VERSION, _OPSET = 8, 13


class IntegerProducts:
    """Multiplies with `rows`, int8 of shape [rows, dimension], from -127 to 127. Thread-safe."""

    def __init__(self, rows: NDArray[np.int8]) -> None:
        import onnxruntime

        options = session_options()
        self._session: Any = onnxruntime.InferenceSession(_graph(rows), options, providers=["CPUExecutionProvider"])
        # The session would keep the unpacked rows for another attempt with other providers, which is never made.
        vars(self._session).pop("_model_bytes", None)

    def __call__(self, digits: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns the exact inner products of `digits`, shape [n, dimension] and from -MOST_DIGIT to MOST_DIGIT, with
        all rows: int32 of shape [n, rows]."""
        unsigned = (digits.astype(np.int16) + _ZERO).astype(np.uint8)
        (products,) = self._session.run(None, {"digits": unsigned})
        return np.asarray(products, np.int32)


# ---------------------------------------------------------------- a graph of one node, in the encoding of protobuf


def _graph(rows: NDArray[np.int8]) -> bytes:
    """Returns the ONNX model `products = MatMulInteger(digits, rows)`. The rows, which are most of it, are copied only
    once."""
    count, dimension = rows.shape
    node = b"".join(_text(1, name) for name in ("digits", "rows", "zero")) + _text(2, "products")
    content = np.ascontiguousarray(rows.T)
    tensor = _described("rows", _INT8, (dimension, count)) + _varint(9 << 3 | 2) + _varint(content.nbytes)
    before = _field(1, node + _text(4, "MatMulInteger")) + _text(2, "compare")
    before += _varint(5 << 3 | 2) + _varint(len(tensor) + content.nbytes) + tensor
    after = _field(5, _described("zero", _UINT8, ()) + _field(9, bytes((_ZERO,))))
    after += _field(11, _value("digits", _UINT8)) + _field(12, _value("products", _INT32))
    graph = _varint(7 << 3 | 2) + _varint(len(before) + content.nbytes + len(after)) + before
    opset = _field(8, _text(1, "") + _number(2, _OPSET))
    return b"".join((_number(1, _IR_VERSION), graph, content.data, after, opset))


def _described(name: str, kind: int, shape: tuple[int, ...]) -> bytes:
    """Returns the description of a tensor, without its content."""
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name)


def _value(name: str, kind: int) -> bytes:
    """Returns the description of a matrix of any size."""
    shape = _field(1, b"") * 2
    return _text(1, name) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))


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
