"""The file of a reranker's weights: matrices as int8 with a scale for each row, all other tensors in half precision.

The matrix of words is not in it: training leaves it as it is in minilm-code, from which it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Tensors = dict[str, NDArray[np.float32]]

WORDS = "words.weight"
WEIGHTS = "weights.npz"
_SCALE = ".scale"
_LEVELS = 127
_QUANTISED = "_quantized"


def write_weights(path: Path, tensors: Mapping[str, NDArray[np.float32]]) -> None:
    """Writes the tensors without `WORDS`. A row's scale is its largest absolute value divided by 127."""
    stored: dict[str, NDArray[np.generic]] = {}
    for name, value in sorted(tensors.items()):
        if name == WORDS:
            continue
        if value.ndim == 2:
            stored[name], stored[name + _SCALE] = quantised(value)
        else:
            stored[name] = value.astype(np.float16)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(file, allow_pickle=False, **stored)
    unfinished.replace(path)


def quantised(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The int8 levels [rows, columns] and the scale of each row [rows]; a row of zeros has the scale 1."""
    largest = np.abs(matrix).max(axis=1).astype(np.float32)
    scale = np.where(largest > 0, largest / np.float32(_LEVELS), np.float32(1))
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def read_weights(path: Path) -> Tensors:
    """What `write_weights` wrote, as floats; `WORDS` is missing."""
    with np.load(path) as stored:
        found = {}
        for name in stored.files:
            if not name.endswith(_SCALE):
                value = stored[name].astype(np.float32)
                found[name] = value * stored[name + _SCALE][:, None] if name + _SCALE in stored.files else value
        return found


def mean_of(models: Sequence[Mapping[str, NDArray[np.float32]]]) -> Tensors:
    """The mean of the weights of models that started from the same ones (Wortsman et al. 2022, "Model soups")."""
    return {name: np.mean([model[name] for model in models], axis=0, dtype=np.float32) for name in models[0]}


def packaged_weights(folder: Path) -> Tensors:
    """The tensors of minilm-code as floats, from the int8 graph in its folder, under the names that they have in
    scripts/train/build-model."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(folder / "int8.onnx")).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found = {}
    for name, value in constants.items():
        base = name.removesuffix(_QUANTISED)
        if base + "_scale" in constants and base != name:
            found[base] = _dequantised(name, constants)
        elif "." in name and not name.endswith(("_scale", "_zero_point")):
            found[name] = np.asarray(value, np.float32)
    for node in graph.node:
        # onnx stores the product with the transposed weight of `/layers.0/query/MatMul_quant` under a name of its own.
        if node.op_type == "MatMulInteger" and node.name.startswith("/layers.") and node.input[1] in constants:
            _, layer, part, *_ = node.name.split("/")
            found[f"{layer}.{part}.weight"] = np.ascontiguousarray(_dequantised(node.input[1], constants).T)
    return found


def _dequantised(name: str, constants: Mapping[str, NDArray[np.generic]]) -> NDArray[np.float32]:
    base = name.removesuffix(_QUANTISED)
    levels, scale = np.asarray(constants[name], np.float32), np.asarray(constants[base + "_scale"], np.float32)
    zero = np.asarray(constants.get(base + "_zero_point", np.zeros_like(scale)), np.float32)
    if scale.size > 1:  # one scale for each row or column: for the last axis of that length
        axis = max(axis for axis, length in enumerate(levels.shape) if length == scale.size)
        shape = [scale.size if place == axis else 1 for place in range(levels.ndim)]
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    return np.asarray((levels - zero) * scale, np.float32)
