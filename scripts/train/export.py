"""Writes a token table as the files that the product loads: an ONNX graph with int8 rows, the tokeniser, a catalog
entry.

For a transformer it writes two graphs, in int8 and in half precision, over one file of int8 weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data
from tokenizers import Tokenizer

from .contrast import Tables

_OPSET, _IR = 17, 8
FILES = ("model.onnx", "tokenizer.json")
GRAPHS = ("int8.onnx", "fp16.onnx")
WEIGHTS = "weights.bin"
_QUANTISED = "_quantized"
_LARGE = 100_000
"""Weights of at least this many bytes are moved out of the graph."""
_PAGE = 4096
"""Each weight starts at a multiple of this, so that the file can be mapped into memory."""


def quantised(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 rows and one scale per row."""
    scales = np.maximum(np.abs(table).max(1), 1e-12) / 127
    return np.rint(table / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def graph(tables: Tables, exponent: float) -> onnx.ModelProto:
    """A graph that takes each text's distinct ids as `input_ids`, their counts as `attention_mask` (0: padding) and as
    `token_type_ids` 1 for a query, else 0. It returns unit vectors."""
    rows, scales = quantised(tables.rows)
    both = np.concatenate([scales * tables.document_weights, scales * tables.query_weights])
    constants = {
        "rows": rows,
        "scales": both.astype(np.float32),
        "vocabulary": np.array(len(rows), dtype=np.int64),
        "exponent": np.array(exponent, dtype=np.float32),
        "least": np.array(1e-9, dtype=np.float32),
        "middle": np.array([1], dtype=np.int64),
    }
    steps = [
        ("Mul", ["token_type_ids", "vocabulary"], "shift", {}),
        ("Add", ["input_ids", "shift"], "scale_ids", {}),
        ("Gather", ["scales", "scale_ids"], "scale", {}),
        ("Cast", ["attention_mask"], "counts", {"to": TensorProto.FLOAT}),
        ("Pow", ["counts", "exponent"], "damped", {}),
        ("Mul", ["damped", "scale"], "weights", {}),
        ("Unsqueeze", ["weights", "middle"], "weights_row", {}),
        ("Gather", ["rows", "input_ids"], "found", {}),
        ("Cast", ["found"], "found_float", {"to": TensorProto.FLOAT}),
        ("MatMul", ["weights_row", "found_float"], "sum_row", {}),
        ("Squeeze", ["sum_row", "middle"], "sum", {}),
        ("ReduceL2", ["sum"], "length", {"axes": [1], "keepdims": 1}),
        ("Max", ["length", "least"], "safe_length", {}),
        ("Div", ["sum", "safe_length"], "sentence_embedding", {}),
    ]
    nodes = [helper.make_node(kind, inputs, [output], **options) for kind, inputs, output, options in steps]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", rows.shape[1]])
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    made = helper.make_graph(nodes, "static", inputs, [output], stored)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    onnx.checker.check_model(model)
    return model


def write_model(folder: Path, tables: Tables, exponent: float, tokenizer: Path) -> None:
    """Writes FILES into `folder`: the graph of the tables and a copy of the tokeniser."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(graph(tables, exponent), str(folder / FILES[0]))
    (folder / FILES[1]).write_bytes(tokenizer.read_bytes())


def to_half(fp32: Path, fp16: Path) -> None:
    """Writes the graph with weights and sums in half precision; inputs and outputs keep their types."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(str(fp32)), keep_io_types=True), str(fp16))


def share_weights(int8: Path, fp16: Path, folder: Path) -> None:
    """Writes both graphs over one file of weights: GRAPHS and WEIGHTS in `folder`.

    `int8` is onnxruntime's dynamic quantisation of the graph of which `fp16` is the half-precision form, so each large
    weight of `fp16` has its name plus `_quantized` in `int8`. The fp16 graph computes its weights from those by casts
    and products of constants, which onnxruntime carries out once, when it loads the graph.
    """
    small, half = onnx.load(str(int8)), onnx.load(str(fp16))
    weights = bytearray()
    by_name = {tensor.name: tensor for tensor in small.graph.initializer}
    moved = {name for name, tensor in by_name.items() if name.endswith(_QUANTISED) and len(_bytes(tensor)) >= _LARGE}
    for name in sorted(moved):
        content = _bytes(by_name[name])
        weights += b"\0" * (-len(weights) % _PAGE)
        by_name[name].ClearField("int32_data")
        by_name[name].raw_data = content
        set_external_data(by_name[name], WEIGHTS, len(weights), len(content))
        by_name[name].ClearField("raw_data")
        weights += content
    kept, steps = [], []
    for tensor in half.graph.initializer:
        if tensor.name + _QUANTISED in moved:
            needed, made = _scaled(tensor.name, by_name)
            kept += needed
            steps += made
        else:
            kept.append(tensor)
    steps += half.graph.node
    del half.graph.initializer[:], half.graph.node[:]
    half.graph.initializer.extend(kept)
    half.graph.node.extend(steps)
    (folder / WEIGHTS).write_bytes(weights)
    for name, model in zip(GRAPHS, (small, half), strict=True):
        (folder / name).write_bytes(model.SerializeToString(deterministic=True))


def _bytes(tensor: onnx.TensorProto) -> bytes:
    content: bytes = numpy_helper.to_array(tensor).tobytes()
    return content


def _scaled(name: str, quantised: dict[str, onnx.TensorProto]) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """The constants and nodes that compute the fp16 weight `name`: (quantised - zero point) * scale."""
    levels = quantised[name + _QUANTISED]
    scale, zero = (numpy_helper.to_array(quantised[name + end]).astype(np.float32) for end in ("_scale", "_zero_point"))
    constants = [levels, numpy_helper.from_array(scale, f"{name}_scale")]
    steps = [helper.make_node("Cast", [levels.name], [f"{name}_levels"], to=TensorProto.FLOAT)]
    centred = f"{name}_levels"
    if zero.any():
        constants.append(numpy_helper.from_array(zero, f"{name}_zero"))
        centred = f"{name}_centred"
        steps.append(helper.make_node("Sub", [f"{name}_levels", f"{name}_zero"], [centred]))
    steps.append(helper.make_node("Mul", [centred, f"{name}_scale"], [f"{name}_float"]))
    steps.append(helper.make_node("Cast", [f"{name}_float"], [name], to=TensorProto.FLOAT16))
    return constants, steps


def cosines(one: Path, other: Path, tokenizer: Path, texts: Iterable[str], most: int = 256) -> list[float]:
    """The cosine of two encoders' vectors for each text, on the CPU."""
    made = Tokenizer.from_file(str(tokenizer))
    made.no_padding()
    made.enable_truncation(most)
    sessions = [onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (one, other)]
    found = []
    for text in texts:
        ids = np.array([made.encode(text).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        left, right = (session.run(None, feed)[0][0] for session in sessions)
        found.append(float(left @ right / np.linalg.norm(left) / np.linalg.norm(right)))
    return found


def catalog_entry(folder: Path, files: Sequence[str], **facts: object) -> dict[str, Any]:
    """The entry of a model written to `folder`. `files` starts with its graph; `facts` are the fields in which models
    differ."""
    return {
        "id": folder.name,
        "folder": folder.name,
        "graph": files[0],
        "pooling": "graph",
        "query_prefix": "",
        "document_prefix": "",
        "split_identifiers": True,
        "licence": "Apache-2.0",
        **facts,
        "size": sum((folder / name).stat().st_size for name in files),
        "files": {name: _sha256(folder / name) for name in files},
    }


def as_lines(repositories: Sequence[dict[str, Any]]) -> str:
    """The text of a model's training-data.json: a list with one entry per line."""
    return "[\n" + ",\n".join(json.dumps(head) for head in repositories) + "\n]\n"


def enter(catalog: Path, entry: dict[str, Any]) -> None:
    """Replaces the catalog's entry with the same id, or appends the entry."""
    content = json.loads(catalog.read_text("utf-8"))
    models = content["models"]
    places = [place for place, model in enumerate(models) if model["id"] == entry["id"]]
    if places:
        models[places[0]] = entry
    else:
        models.append(entry)
    catalog.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
