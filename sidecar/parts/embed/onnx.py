"""Runs embedding models with onnxruntime: text in, L2-normalised vectors out.

Only this module imports tokenizers. onnxruntime is imported only when an embedder is created. `cache` stores vectors,
and `catalog` finds models.

Several batches run at once, each on one core. With one core, a graph gives the same bits on every machine and needs no
spinning threads. Dynamic int8 graphs, in which a text's vector depends on its batch, can then run text by text without
losing speed (docs/decisions/0004).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.errors import ModelLoadFailed
from sidecar.model.terms import Ids, Vectors
from sidecar.parts.embed.batches import BatchLimits, pad_rows, plan_batches
from sidecar.parts.embed.card import Card
from sidecar.parts.embed.catalog import TOKENIZER_FILE, ModelEntry, ModelFiles
from sidecar.parts.embed.token_cache import TokenCache, divides_by_word, is_plain, only_lowers
from sidecar.parts.embed.tokens import split_identifiers, split_new_identifiers
from sidecar.parts.onnx_session import session_options
from sidecar.processes import usable_processors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Device: TypeAlias = Literal["auto", "cpu", "cuda"]
Row: TypeAlias = tuple[Ids, Ids]
"""One text in the form that its graph needs: token ids and mask; for a static model, its distinct token ids and their
counts."""

_In = TypeVar("_In")
_Out = TypeVar("_Out")

CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
_LIMITS = {
    "static": BatchLimits(tokens=4096, rows=64),
    "cpu": BatchLimits(tokens=1024, rows=32),
}
_ONE_BY_ONE = BatchLimits(tokens=1, rows=1)
_FATAL_ONLY = 4  # a level of onnxruntime's log
_SLICE = 32  # texts tokenised by one task
_BULK = 32  # the minimum number of texts for which a GPU is worth using
_MOST_THREADS = 8
_USUAL_MAX_TOKENS = 512
_CHARS_PER_TOKEN = 8  # a generous estimate, including indentation: the tokeniser would truncate the rest anyway
_PROBES = ("open a file and read its lines", "def close(self): self.stream.close(); self.stream = None; return True")


class OnnxEmbedder:
    """A `sidecar.model.terms.Embedder` for a model of the catalog or in a folder. Thread-safe.

    Queries always run on the CPU. Bulk work runs on a CUDA GPU if the settings allow it and the GPU gives the same
    vectors as the CPU; the first bulk call tries that. The constructor raises ModelLoadFailed if files are missing, are
    wrong or do not fit the entry. `threads` 0 means a number that suits the model and the machine.
    """

    def __init__(self, files: ModelFiles, device: Device = "auto", threads: int = 0) -> None:
        self._model_id = files.verify()
        self._entry = files.entry
        self._threads = threads or _threads_for(files.entry.kind)
        self._tokenizer = _Tokenizer(files)
        self._cpu = ModelGraph(files, CPU)
        self._probe_vectors = self._probe(self._cpu)
        self._dimension = int(self._probe_vectors.shape[1])
        self._one_by_one = self._entry.texts_per_run == 1 or self._depends_on_batch()
        self._wanted = device
        self._card = Card(lambda: ModelGraph(files, _CUDA), self._cosine_to_cpu, self._refusal())
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="embed")
        self._query = lru_cache(maxsize=256)(self._embed_query)

    @property
    def model_id(self) -> str:
        """The entry's id and a hash of files and settings; vectors of different model ids cannot be compared."""
        return self._model_id

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._dimension

    @property
    def path_weight(self) -> float:
        """The weight of the path's vector when it is added to the body's, 0 or more."""
        return self._entry.path_weight

    @property
    def device(self) -> str:
        """`cuda` while bulk work runs on a GPU, else `cpu`."""
        return "cuda" if self._card.in_use else "cpu"

    @property
    def device_note(self) -> str:
        """One line on why bulk work does not run on a GPU; empty if it does or if the CPU was requested."""
        return self._card.note

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Returns L2-normalised float32 vectors of shape [len(texts), dimension], in the order of `texts`.

        A text without any token gives a row of zeros. Raises ModelLoadFailed if the model fails while running.
        """
        rows = self._tokenize(self._entry.document_prefix, texts)
        if len(texts) >= _BULK:
            vectors = self._card.run(lambda graph, limits: self._run(graph, rows, limits))
            if vectors is not None:
                return vectors
        return self._run(self._cpu, rows, self._cpu_limits())

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Returns the L2-normalised float32 vector of a query, of shape [dimension] and read-only. The last 256 are
        cached.

        Raises ModelLoadFailed if the model fails while running.
        """
        return self._query(text)

    def close(self) -> None:
        """Ends the threads; bulk calls fail afterwards."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._card.close()

    # ------------------------------------------------------------ text to rows

    def _tokenize(self, prefix: str, texts: Sequence[str]) -> list[Row]:
        """Returns the rows of all texts, tokenised by several threads."""
        slices = [texts[start : start + _SLICE] for start in range(0, len(texts), _SLICE)]
        done = self._spread(lambda part: self._rows(prefix, part), slices)
        return [row for rows in done for row in rows]

    def _rows(self, prefix: str, texts: Sequence[str]) -> list[Row]:
        """Returns the row of each text."""
        if self._entry.kind == "static":
            return self._tokenizer.count(prefix, texts)
        return [(ids, np.ones_like(ids)) for ids in self._tokenizer.encode(prefix, texts)]

    # ------------------------------------------------------------ rows to vectors

    def _run(self, graph: ModelGraph, rows: list[Row], limits: BatchLimits) -> Vectors:
        """Returns the vectors of all rows, in their order, computed in batches."""
        vectors = np.zeros((len(rows), self._dimension), dtype=np.float32)
        batches = plan_batches([len(ids) for ids, _ in rows], limits)
        # One batch at a time fills a GPU; on the CPU each core takes one.
        spread = self._spread if graph is self._cpu else _in_turn
        results = spread(lambda batch: graph.run([rows[i] for i in batch]), batches)
        for batch, result in zip(batches, results, strict=True):
            vectors[batch] = result
        return vectors

    def _cpu_limits(self) -> BatchLimits:
        """Returns the limits of a batch on the CPU."""
        if self._one_by_one:
            return _ONE_BY_ONE
        return _LIMITS["static" if self._entry.kind == "static" else "cpu"]

    def _embed_query(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a query, on the CPU."""
        rows = self._rows(self._entry.query_prefix, [text])
        vector: NDArray[np.float32] = self._cpu.run(rows, is_query=self._entry.kind == "static")[0]
        vector.flags.writeable = False
        return vector

    def _spread(self, work: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
        """Returns the results of `work` in the order of `items`, computed by several threads if that helps."""
        if len(items) < 2 or self._threads == 1:
            return _in_turn(work, items)
        return list(self._pool.map(work, items))

    # ------------------------------------------------------------ checks of the model

    def _probe(self, graph: ModelGraph) -> Vectors:
        """Returns the vectors of both probe texts, each run alone. Raises ModelLoadFailed if they are zero or not
        finite, or do not have the dimension that the entry states.
        """
        entry = self._entry
        vectors = np.concatenate([graph.run([row]) for row in self._rows("", _PROBES)])
        if entry.dimension and vectors.shape[1] != entry.dimension:
            raise ModelLoadFailed(
                f"Model {entry.id} returns vectors of {vectors.shape[1]} numbers, but its entry says {entry.dimension}."
            )
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise ModelLoadFailed(f"Model {entry.id} returns vectors that are zero or not finite for ordinary text.")
        return vectors

    def _depends_on_batch(self) -> bool:
        """Whether a probe text gets another vector in a batch than alone. If the entry sets `texts_per_run`, returns
        False without trying.
        """
        if self._entry.texts_per_run:
            return False
        together = self._cpu.run(self._rows("", _PROBES))
        return bool(np.abs(together - self._probe_vectors).max() > 1e-4)

    # ------------------------------------------------------------ the card

    def _refusal(self) -> str | None:
        """Returns why no GPU is tried, empty if the CPU was requested; None if one is."""
        if self._wanted == "cpu":
            return ""
        if self._entry.kind == "static":
            return "CPU: a static model is a table lookup, which a card does not speed up."
        if self._one_by_one:
            return "CPU: this model's graph is dynamic int8, which a card cannot run; it can run one in fp16 or fp32."
        import onnxruntime

        if _CUDA not in onnxruntime.get_available_providers():
            return "CPU: the installed onnxruntime has no CUDA (install the package onnxruntime-gpu in its place)."
        return None

    def _cosine_to_cpu(self, graph: ModelGraph) -> float:
        """Returns the smallest cosine between this graph's and the CPU's vectors of the probe texts."""
        return float((self._probe(graph) * self._probe_vectors).sum(axis=1).min())


class ModelGraph:
    """An onnxruntime session with the names of its inputs and output, and the way to pool the output."""

    def __init__(self, files: ModelFiles, provider: str) -> None:
        self._name = files.entry.id
        self._session = _open_session(files, provider)
        self.runs_there: bool = self._session.get_providers()[0] == provider
        self._inputs = _checked_inputs(self._session, files.entry)
        self._output, self._pooling = _chosen_output(self._session, files.entry)

    def run(self, rows: Sequence[Row], is_query: bool = False) -> Vectors:
        """Returns L2-normalised float32 vectors of shape [len(rows), dimension]; rows without tokens give zeros.

        `is_query` is passed as token type 1, for static graphs that weigh the tokens of a query differently. Raises
        ModelLoadFailed if the session fails.
        """
        mask = pad_rows([mask for _, mask in rows])
        feed = {"input_ids": pad_rows([ids for ids, _ in rows]), "attention_mask": mask}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.full_like(mask, int(is_query))
        try:
            output = self._session.run([self._output], {name: feed[name] for name in self._inputs})[0]
        except Exception as error:
            raise ModelLoadFailed(f"Model {self._name} failed while running: {shown.reason(_reason(error))}") from error
        vectors = _pool(np.asarray(output, dtype=np.float32), mask, self._pooling)
        vectors[~mask.any(axis=1)] = 0.0
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        normalised: Vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
        return normalised


def _pool(output: NDArray[np.float32], mask: Ids, pooling: str) -> NDArray[np.float32]:
    """Returns one vector per text, of shape [texts, dimension]; `mask` has shape [texts, tokens].

    `graph` takes an output of shape [texts, dimension] as it is. `cls` takes the first token of an output of shape
    [texts, tokens, dimension], and `mean` the mean over its tokens weighted by the mask (Reimers and Gurevych,
    "Sentence-BERT", 2019).
    """
    if pooling == "graph":
        return output
    if pooling == "cls":
        return output[:, 0].copy()
    weights = mask[:, :, None].astype(np.float32)
    pooled: NDArray[np.float32] = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return pooled


def _checked_inputs(session: Any, entry: ModelEntry) -> list[str]:
    """Returns the names of the graph's inputs. Raises ModelLoadFailed if sidecar cannot provide one of them."""
    known = ("input_ids", "attention_mask", "token_type_ids")
    for node in session.get_inputs():
        if node.name not in known or node.type != "tensor(int64)" or len(node.shape) != 2:
            raise ModelLoadFailed(
                f"Model {entry.id} needs an input {shown.quoted(node.name)} of {node.type}, shape {node.shape}; "
                f"sidecar provides "
                f"{', '.join(known)} as int64 [batch, tokens]."
            )
    return [node.name for node in session.get_inputs()]


def _chosen_output(session: Any, entry: ModelEntry) -> tuple[str, str]:
    """Returns the name of the output to read, and how to pool it. Raises ModelLoadFailed if no output has the necessary
    shape.
    """
    of_rank: dict[int, str] = {}
    for node in session.get_outputs():
        of_rank.setdefault(len(node.shape), node.name)
    pooling = entry.pooling or ("graph" if 2 in of_rank else "mean")
    name = of_rank.get(2 if pooling == "graph" else 3)
    if name is None:
        wanted = "[batch, dimension]" if pooling == "graph" else "[batch, tokens, dimension]"
        shapes = ", ".join(f"{node.name} {node.shape}" for node in session.get_outputs())
        raise ModelLoadFailed(f"Model {entry.id} has no output of shape {wanted} (it has {shapes}).")
    return name, pooling


def _open_session(files: ModelFiles, provider: str) -> Any:
    """Opens a session that runs on one thread. Raises ModelLoadFailed if the provider or the graph cannot be used."""
    import onnxruntime

    options = session_options()
    wanted: list[Any] = [CPU]
    if provider == _CUDA:
        # preload_dlls prints what is missing, and stdout carries the client's messages.
        with contextlib.redirect_stdout(sys.stderr):
            onnxruntime.preload_dlls()
        # What fails is said in the device's note, and then runs on the CPU.
        options.log_severity_level = _FATAL_ONLY
        wanted = [(_CUDA, {"use_tf32": "0"}), CPU]
    try:
        # onnxruntime's own fallback prints to stdout; without it, a failure raises an exception.
        return onnxruntime.InferenceSession(str(files.graph), options, providers=wanted, enable_fallback=0)
    except Exception as error:
        raise ModelLoadFailed(
            f"Model {files.entry.id}: {shown.place(files.graph)} cannot be run: {shown.reason(_reason(error))}"
        ) from error


def _load_tokenizer(files: ModelFiles) -> Tokenizer:
    """Loads the model's tokeniser, without padding, truncating at the entry's limit. Raises ModelLoadFailed if it is
    invalid.
    """
    # The library's own thread pool would use every core beside sidecar's threads.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    path = files.folder / TOKENIZER_FILE
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise ModelLoadFailed(
            f"Model {files.entry.id}: {shown.place(path)} is not a tokeniser: {shown.reason(_reason(error))}"
        ) from error
    limit = files.entry.max_tokens
    if files.entry.kind == "transformer" and not limit:
        limit = (tokenizer.truncation or {}).get("max_length", _USUAL_MAX_TOKENS)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if limit:
        tokenizer.enable_truncation(limit)
    return tokenizer


def told_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns what a tokeniser's file says of it, without its vocabulary, which takes as long to write as to load."""
    parts = {"normalizer": tokenizer.normalizer, "pre_tokenizer": tokenizer.pre_tokenizer}
    return {
        **{name: part and json.loads(part.__getstate__()) for name, part in parts.items()},
        "truncation": tokenizer.truncation,
        "model": {"type": type(tokenizer.model).__name__},
        "added_tokens": [{"content": token.content} for token in tokenizer.get_added_tokens_decoder().values()],
    }


def without_normaliser(tokenizer: Tokenizer) -> Tokenizer:
    """Returns a tokeniser with the same vocabulary, which both share, and without a normaliser."""
    bare = type(tokenizer)(tokenizer.model)
    bare.pre_tokenizer, bare.post_processor = tokenizer.pre_tokenizer, tokenizer.post_processor
    for _, token in sorted(tokenizer.get_added_tokens_decoder().items()):
        (bare.add_special_tokens if token.special else bare.add_tokens)([token])
    if tokenizer.truncation:
        bare.enable_truncation(**tokenizer.truncation)
    return bare


class _Tokenizer:
    """A model's tokeniser, which keeps at most `most` tokens of a text (0: all), and the preparation of its texts.

    If the library's normaliser only changes plain texts to lower case, these skip it, because it takes 40 % of the
    tokeniser's time; and they are tokenised word by word where that gives the same tokens.
    """

    def __init__(self, files: ModelFiles) -> None:
        self._split = files.entry.split_identifiers
        self._full = _load_tokenizer(files)
        self._most: int = (self._full.truncation or {}).get("max_length", 0)
        told = told_of(self._full)
        self._bare = without_normaliser(self._full) if only_lowers(told) else None
        self._by_word: TokenCache | None = None
        if self._bare is not None and divides_by_word(told):
            self._by_word = TokenCache(self._divided_words, self._tokens_of_parts)

    def encode(self, prefix: str, texts: Sequence[str]) -> list[Ids]:
        """Returns the token ids of each text behind the prefix, in the order of `texts`, with the model's special
        tokens."""
        return self._of_each(texts, lambda some, plain: self._encoded(prefix, some, plain, special=True))

    def count(self, prefix: str, texts: Sequence[str]) -> list[Row]:
        """Returns the different token ids of each text behind the prefix, ascending, and how often each occurs in it,
        in the order of `texts`. There are no special tokens among them."""
        by_word = None if prefix else self._by_word

        def count(some: Sequence[str], plain: bool) -> list[Row]:
            if plain and by_word is not None:
                return by_word.count(some)
            encoded = self._encoded(prefix, some, plain, special=False)
            return [np.unique(ids, return_counts=True) for ids in encoded]

        return self._of_each(texts, count)

    def _of_each(self, texts: Sequence[str], work: Callable[[Sequence[str], bool], list[_Out]]) -> list[_Out]:
        """Returns what `work` makes of each text, in the order of `texts`. It gets the plain ones and the others each
        at once, and whether they are plain."""
        cut = [self._cut(text) for text in texts]
        plain = [self._bare is not None and is_plain(text) for text in cut]
        made: dict[int, _Out] = {}
        for kind in (True, False):
            members = [place for place, value in enumerate(plain) if value is kind]
            if members:
                made.update(zip(members, work([cut[place] for place in members], kind), strict=True))
        return [made[place] for place in range(len(texts))]

    def _encoded(self, prefix: str, texts: Sequence[str], plain: bool, *, special: bool) -> list[Ids]:
        asked = [prefix + self._divided(text) for text in texts]
        ids = self._token_ids(asked, is_bare=plain and is_plain(prefix), special=special)
        return [np.array(some, dtype=np.int64) for some in ids]

    def _tokens_of_parts(self, parts: Sequence[str]) -> Iterator[list[int]]:
        return self._token_ids(parts, is_bare=True, special=False)

    def _token_ids(self, texts: Sequence[str], is_bare: bool, special: bool) -> Iterator[list[int]]:
        bare = self._bare if is_bare else None
        asked = texts if bare is None else [text.lower() for text in texts]
        encodings = (bare or self._full).encode_batch_fast(asked, add_special_tokens=special)
        return (encoding.ids for encoding in encodings)

    def _cut(self, text: str) -> str:
        if self._most:
            text = text[: self._most * _CHARS_PER_TOKEN]
        # The tokeniser refuses lone surrogates.
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

    def _divided(self, text: str) -> str:
        """Returns the text with its identifiers divided, if the entry says so."""
        return split_identifiers(text) if self._split else text

    def _divided_words(self, text: str) -> str:
        """Returns new words, one on each line, in lower case and divided like `_divided`."""
        return (split_new_identifiers(text) if self._split else text).lower()


def _in_turn(work: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
    """Returns the results of `work`, computed one after the other."""
    return [work(item) for item in items]


def _threads_for(kind: str) -> int:
    """Returns how many threads run a model of this kind. A transformer gets all cores (at most eight). A static model
    gets half of them, because it is faster than the preparation of its texts, which needs the others.
    """
    return max(1, min(_MOST_THREADS, usable_processors() // (2 if kind == "static" else 1)))


def _reason(error: Exception) -> str:
    """Returns the first line of an error's message, which helps a person; the rest is the library's trace."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
