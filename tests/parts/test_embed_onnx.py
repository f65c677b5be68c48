"""The embedder over the shipped models: right vectors, whatever the batch, the order or the thread."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.errors import ModelLoadFailed
from sidecar.model.terms import Embedder
from sidecar.parts.embed.catalog import ModelFiles, models_folder
from sidecar.parts.embed.onnx import OnnxEmbedder
from sidecar.parts.embed.published import Shelf

STATIC, MINILM, HALF = "static-code-256", "minilm-code-int8", "minilm-code-fp16"
resolve_model = Shelf(None).resolve
CODE = [
    "def retry_request(self, attempts):\n    delay = 2 ** attempts\n    sleep(delay)\n    return self.send()",
    "class CookieJar:\n    def set_cookie(self, cookie):\n        self._cookies[cookie.domain] = cookie",
    "func parseConfigFile(path string) (*Config, error) {\n  data := read(path)\n  return yaml.Parse(data)\n}",
    "SELECT name, COUNT(*) FROM users JOIN orders ON users.id = orders.user_id GROUP BY name",
]
QUESTIONS = [
    ("wait longer after each failed attempt", 0),
    ("where are cookies stored", 1),
    ("load settings from a yaml file", 2),
    ("how many orders each user has", 3),
]
# More than one slice for the tokeniser and lengths from a word to hundreds of tokens.
TEXTS = [" ".join(CODE * (1 + number % 3))[number * 7 :] + f" v{number}" for number in range(45)]


@pytest.fixture(scope="module")
def static() -> Iterator[OnnxEmbedder]:
    embedder = OnnxEmbedder(resolve_model(STATIC), threads=2)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def minilm() -> Iterator[OnnxEmbedder]:
    embedder = OnnxEmbedder(resolve_model(MINILM), threads=2)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def half() -> Iterator[OnnxEmbedder]:
    """The model in half precision, on a CUDA card if this machine has one."""
    embedder = OnnxEmbedder(resolve_model(HALF), threads=2)
    yield embedder
    embedder.close()


@pytest.fixture(params=[STATIC, MINILM, HALF])
def embedder(
    request: pytest.FixtureRequest, static: OnnxEmbedder, minilm: OnnxEmbedder, half: OnnxEmbedder
) -> Embedder:
    return {STATIC: static, MINILM: minilm, HALF: half}[request.param]


@pytest.fixture
def texts(embedder: Embedder) -> list[str]:
    """TEXTS; a third of them for half precision, which a CPU computes slowly: its code is that of the other models."""
    return TEXTS[::3] if embedder.model_id.startswith(HALF) else TEXTS


@pytest.fixture(scope="module")
def kept() -> dict[str, np.ndarray]:
    """Returns the vectors of the texts by model, each embedded once."""
    return {}


@pytest.fixture
def together(embedder: Embedder, texts: list[str], kept: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the vectors of the texts, embedded in one call."""
    if embedder.model_id not in kept:
        kept[embedder.model_id] = embedder.embed_documents(texts)
    return kept[embedder.model_id]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Makes a user's folder with the static model's files and settings beside them."""
    folder = tmp_path / "mine"
    shutil.copytree(models_folder() / STATIC, folder)
    declare(folder, kind="static")
    return folder


def declare(folder: Path, **settings: object) -> None:
    (folder / "sidecar-model.json").write_text(json.dumps(settings), "utf-8")


def changed(name: str, **changes: Any) -> ModelFiles:
    files = resolve_model(name)
    return ModelFiles(replace(files.entry, **changes), files.folder)


# ---------------------------------------------------------------- vectors


@pytest.mark.parametrize(("question", "best"), QUESTIONS)
def test_a_question_in_words_is_nearest_to_the_code_that_answers_it(
    embedder: Embedder, question: str, best: int
) -> None:
    similarities = embedder.embed_documents(CODE) @ embedder.embed_query(question)
    assert int(similarities.argmax()) == best


def test_vectors_have_the_dimension_of_the_entry_and_length_one(
    embedder: Embedder, texts: list[str], together: np.ndarray
) -> None:
    assert together.shape == (len(texts), embedder.dimension)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_the_static_vector_is_the_weighted_sum_of_its_distinct_tokens(static: OnnxEmbedder) -> None:
    # sum of count^0.55 x row: "read" twice and "file" once, from the vectors of the words alone, which lack the
    # rows' lengths; solving for those must leave nothing over.
    read, file, both = static.embed_documents(["read", "file", "read file read"])
    weights, leftover, *_ = np.linalg.lstsq(np.stack([read, file], axis=1), both, rcond=None)
    assert (weights > 0).all()
    assert float(leftover[0]) < 1e-10
    once = static.embed_documents(["read file"])[0]
    once_weights = np.linalg.lstsq(np.stack([read, file], axis=1), once, rcond=None)[0]
    ratio = (weights[0] / weights[1]) / (once_weights[0] / once_weights[1])
    assert ratio == pytest.approx(2**0.55, rel=1e-3)


@pytest.mark.parametrize(("kind", "differs"), [("static", True), ("transformer", False)])
def test_only_a_static_graph_with_token_types_is_told_which_text_is_a_query(kind: str, differs: bool) -> None:
    # The transformer's graph has token types; a type other than 0 changes its vectors.
    embedder = OnnxEmbedder(changed(MINILM, kind=kind), threads=1)
    document, query = embedder.embed_documents(["read file"])[0], embedder.embed_query("read file")
    embedder.close()
    assert (float(np.abs(document - query).max()) > 1e-3) == differs


def test_a_text_has_the_same_vector_alone_and_in_any_batch(
    embedder: Embedder, texts: list[str], together: np.ndarray
) -> None:
    some, others = range(0, len(texts), 6), range(len(texts) - 1, -1, -2)
    alone = np.concatenate([embedder.embed_documents([texts[number]]) for number in some])
    other_batch = embedder.embed_documents([texts[number] for number in others])
    # Half precision has eleven bits, and padding changes the order of sums.
    close = 5e-4 if embedder.model_id.startswith(HALF) else 1e-5
    np.testing.assert_allclose(together[some], alone, atol=close)
    np.testing.assert_allclose(together[others], other_batch, atol=close)


def test_the_number_of_threads_changes_nothing(static: OnnxEmbedder) -> None:
    single = OnnxEmbedder(resolve_model(STATIC), threads=1)
    assert np.array_equal(single.embed_documents(TEXTS), static.embed_documents(TEXTS))
    single.close()


def test_a_second_embedder_of_the_same_model_gives_the_same_bits_and_id(minilm: OnnxEmbedder) -> None:
    again = OnnxEmbedder(resolve_model(MINILM), threads=1)
    assert again.model_id == minilm.model_id
    assert np.array_equal(again.embed_documents(CODE), minilm.embed_documents(CODE))
    again.close()


def test_plain_texts_get_the_tokens_that_the_whole_tokeniser_gives_them(static: OnnxEmbedder) -> None:
    # Because of the no-break space at the end, the text takes the slower path. The space is no token.
    plain = [*TEXTS, "a\tTAB\r\nand `~!@#$%^&*()_+-=[]{}|;':\",./<>?` signs", "MiXeD CASE9 x__y"]
    unusual = [text + "\u00a0" for text in plain]
    mixed = [text for pair in zip(plain, unusual, strict=True) for text in pair]
    vectors = static.embed_documents(mixed)
    assert np.array_equal(vectors[0::2], vectors[1::2])


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.dimension)


def test_empty_and_odd_texts_give_finite_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed_documents(["", "   \n", "\udcff lone", "\x00", "日本語のコメント", "x" * 5000])
    assert np.isfinite(vectors).all()
    assert np.isfinite(embedder.embed_query("")).all()


def test_a_text_without_tokens_is_a_row_of_zeros_beside_ordinary_ones(static: OnnxEmbedder) -> None:
    vectors = static.embed_documents(["", CODE[0]])
    assert not vectors[0].any()
    assert vectors[1].any()


def test_what_is_beyond_the_most_tokens_is_not_read(minilm: OnnxEmbedder) -> None:
    base = "open the file and read it " * 60
    first, second = minilm.embed_documents([base, base + " SELECT cookies FROM jar"])
    assert np.array_equal(first, second)


def test_queries_and_documents_get_the_prefixes_of_their_entry(static: OnnxEmbedder) -> None:
    prefixed = OnnxEmbedder(changed(STATIC, query_prefix="search query: ", document_prefix="passage text: "))
    assert np.allclose(prefixed.embed_query("cookie"), static.embed_query("search query: cookie"))
    assert np.allclose(prefixed.embed_documents(["cookie"]), static.embed_documents(["passage text: cookie"]))
    assert prefixed.model_id != static.model_id
    prefixed.close()


def test_identifiers_are_split_unless_the_entry_says_no(static: OnnxEmbedder) -> None:
    assert np.allclose(static.embed_query("parseConfigFile"), static.embed_query("parse Config File"))
    whole = OnnxEmbedder(changed(STATIC, split_identifiers=False))
    assert not np.allclose(whole.embed_query("parseConfigFile"), whole.embed_query("parse Config File"))
    whole.close()


def test_readers_and_a_writer_at_once_get_what_they_would_get_alone(
    embedder: Embedder, texts: list[str], together: np.ndarray
) -> None:
    questions = [f"{question} {number}" for number in range(4) for question, _ in QUESTIONS]
    expected = [embedder.embed_query(question) for question in questions]
    other = OnnxEmbedder(resolve_model(embedder.model_id.split("@")[0]), threads=2)
    with ThreadPoolExecutor(4) as pool:
        bulk = pool.submit(other.embed_documents, texts)
        answers = list(pool.map(other.embed_query, questions))
        np.testing.assert_allclose(bulk.result(), together, atol=1e-6)
    for answer, vector in zip(answers, expected, strict=True):
        np.testing.assert_allclose(answer, vector, atol=1e-6)
    other.close()


def test_a_remembered_query_cannot_be_changed_by_its_caller(static: OnnxEmbedder) -> None:
    with pytest.raises(ValueError, match="read-only"):
        static.embed_query("cookie")[0] = 1.0


# ---------------------------------------------------------------- device


def test_a_static_model_stays_on_the_cpu_and_says_why() -> None:
    embedder = OnnxEmbedder(resolve_model(STATIC), device="cuda")
    embedder.embed_documents(TEXTS)
    assert embedder.device == "cpu"
    assert "table lookup" in embedder.device_note
    embedder.close()


def test_asking_for_the_cpu_leaves_nothing_to_explain() -> None:
    embedder = OnnxEmbedder(resolve_model(MINILM), device="cpu")
    assert (embedder.device, embedder.device_note) == ("cpu", "")
    embedder.close()


def test_the_int8_model_stays_on_the_cpu_and_says_which_kind_does_not() -> None:
    embedder = OnnxEmbedder(resolve_model(MINILM), device="cuda")
    assert embedder.device == "cpu"
    assert "dynamic int8" in embedder.device_note
    assert "fp16" in embedder.device_note
    embedder.close()


def test_the_model_for_a_card_runs_there_or_on_the_cpu_and_one_line_says_why(minilm: OnnxEmbedder) -> None:
    embedder = OnnxEmbedder(resolve_model(HALF), device="cuda")
    vectors = embedder.embed_documents(CODE * 8)
    assert (vectors[:4] * minilm.embed_documents(CODE)).sum(axis=1).min() > 0.98
    if embedder.device == "cpu":
        assert embedder.device_note.startswith("CPU: ")
        assert "\n" not in embedder.device_note
    else:
        assert embedder.device_note == ""
    embedder.close()


def test_models_over_the_same_weights_are_different_models(minilm: OnnxEmbedder, half: OnnxEmbedder) -> None:
    assert resolve_model(HALF).folder == resolve_model(MINILM).folder
    assert half.model_id != minilm.model_id


@pytest.mark.process
def test_nothing_is_printed_to_stdout_by_loading_and_running() -> None:
    script = (
        "from sidecar.engine.models.loader import resolve_model\n"
        "from sidecar.parts.embed.onnx import OnnxEmbedder\n"
        "for device in ('auto', 'cuda'):\n"
        "    for name in ('static-code-256', 'minilm-code-int8', 'minilm-code-fp16'):\n"
        "        OnnxEmbedder(resolve_model(name), device).embed_documents(['one text'] * 40)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b""


@pytest.mark.process
def test_importing_the_embedder_loads_no_library() -> None:
    script = (
        "import sys, sidecar.parts.embed.onnx\n"
        "print([name for name in ('onnxruntime', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- bad models and folders


def test_a_wrong_dimension_is_refused_with_both_numbers() -> None:
    with pytest.raises(ModelLoadFailed, match="vectors of 256 numbers, but its entry says 384"):
        OnnxEmbedder(changed(STATIC, dimension=384))


def test_a_pooling_that_the_graph_has_no_output_for_is_refused() -> None:
    with pytest.raises(ModelLoadFailed, match=r"no output of shape \[batch, tokens, dimension\]"):
        OnnxEmbedder(changed(STATIC, pooling="mean"))


def test_a_graph_that_is_not_onnx_is_refused(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelLoadFailed, match=r'model\.onnx" cannot be run'):
        OnnxEmbedder(resolve_model(str(folder)))


def test_a_tokeniser_that_is_none_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ModelLoadFailed, match=r'tokenizer\.json" is not a tokeniser'):
        OnnxEmbedder(resolve_model(str(folder)))


def test_a_tokeniser_of_another_vocabulary_is_an_error_not_a_crash(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    for token in ("file", "self"):
        tokenizer["model"]["vocab"][token] = 10_000_000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    with pytest.raises(ModelLoadFailed, match="failed while running"):
        OnnxEmbedder(resolve_model(str(folder)))


def test_a_folder_model_gives_the_vectors_of_its_files(folder: Path, static: OnnxEmbedder) -> None:
    embedder = OnnxEmbedder(resolve_model(str(folder)))
    assert embedder.model_id.startswith("mine@")
    assert embedder.dimension == 256
    assert np.array_equal(embedder.embed_documents(CODE), static.embed_documents(CODE))
    embedder.close()


def test_a_bare_folder_with_an_int8_graph_is_probed_and_runs_text_by_text(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name, target in (("int8.onnx", "model.onnx"), ("weights.bin",) * 2, ("tokenizer.json",) * 2):
        shutil.copyfile(resolve_model(MINILM).folder / name, bare / target)
    embedder = OnnxEmbedder(resolve_model(str(bare)), threads=1)
    together = embedder.embed_documents(CODE)
    alone = np.concatenate([embedder.embed_documents([text]) for text in CODE])
    assert embedder.dimension == 384
    np.testing.assert_allclose(together, alone, atol=1e-5)
    embedder.close()
