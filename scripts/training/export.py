"""Writes a token table as the files the product loads: an ONNX graph with int8 rows, the tokeniser, a catalog entry.

And for any encoder: its graph in half precision, and how far two graphs agree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from .contrast import Tables

_OPSET, _IR = 17, 8
FILES = ("model.onnx", "tokenizer.json")


def quantised(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 rows and one scale per row."""
    scales = np.maximum(np.abs(table).max(1), 1e-12) / 127
    return np.rint(table / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def graph(tables: Tables, exponent: float) -> onnx.ModelProto:
    """Takes each text's distinct ids, as mask their counts (0: padding), as token types 1 for a query, else 0."""
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
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(graph(tables, exponent), str(folder / FILES[0]))
    (folder / FILES[1]).write_bytes(tokenizer.read_bytes())


def to_half(fp32: Path, fp16: Path) -> None:
    """The same graph with weights and sums in half precision; what goes in and comes out stays as it is."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(str(fp32)), keep_io_types=True), str(fp16))


def cosines(one: Path, other: Path, tokenizer: Path, texts: Iterable[str], most: int = 256) -> list[float]:
    """Of two encoders' normalised vectors, text by text, on the CPU."""
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


def catalog_entry(folder: Path, dimension: int, path_weight: float) -> dict[str, Any]:
    return {
        "id": folder.name,
        "folder": folder.name,
        "kind": "static",
        "dimension": dimension,
        "pooling": "graph",
        "query_prefix": "",
        "document_prefix": "",
        "max_tokens": 0,
        "split_identifiers": True,
        "texts_per_run": 0,
        "path_weight": path_weight,
        "licence": "Apache-2.0",
        "source": "trained for this project by scripts/train-static; see MODEL_CARD.md",
        "size": sum((folder / name).stat().st_size for name in FILES),
        "files": {name: _sha256(folder / name) for name in FILES},
    }


def enter(catalog: Path, entry: dict[str, Any]) -> None:
    """Puts the entry in its place, or first."""
    content = json.loads(catalog.read_text("utf-8"))
    models = content["models"]
    places = [place for place, model in enumerate(models) if model["id"] == entry["id"]]
    if places:
        models[places[0]] = entry
    else:
        models.insert(0, entry)
    catalog.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
