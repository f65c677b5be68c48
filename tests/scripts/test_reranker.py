"""Lists, tokens and weights of the reranker that scripts/train/train-reranker trains."""

import json
import tomllib
from pathlib import Path

import numpy as np

from scripts.suffixless import load_script
from scripts.train.rerank_lists import LEFT_OUT, RIGHT, WRONG, ListFile, Passages, RerankList, load, path_for, save
from scripts.train.rerank_questions import Change
from scripts.train.rerank_texts import TreeTexts, passage_of
from scripts.train.rerank_tokens import ALL_TOKENS, QUESTION_TOKENS, batch_of, token_lists, training_batch
from scripts.train.rerank_weights import WEIGHTS, WORDS, mean_of, quantised, read_weights, write_weights
from scripts.train.token_rows import FIRST, LAST, PADDING

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models/minilm-rerank"
TOKENIZER = ROOT / "models/minilm-code/tokenizer.json"


def some_lists() -> ListFile:
    passages = [f"file {number} : def run{number}(): pass" for number in range(5)]
    return ListFile(
        {"repository": "owner/name"},
        [*passages, "word " * 400],
        [
            RerankList("subject", "where it runs", [0, 1, 2], [3, 2, 1], [WRONG, RIGHT, LEFT_OUT]),
            RerankList("long", "one two three " * 100, [5, 3, 4, 0], [4, 3, 2, 1], [RIGHT, WRONG, WRONG, WRONG]),
        ],
    )


def test_lists_are_read_as_they_were_written_and_counted_by_kind(tmp_path: Path) -> None:
    made = some_lists()
    path = path_for(tmp_path, "owner/name")
    save(path, made)
    assert load(path) == made
    assert path.name == "owner+name.json.gz"
    assert made.head() == {"repository": "owner/name", "lists": {"subject": 1, "long": 1}}


def test_a_list_teaches_if_it_has_a_right_and_a_wrong_passage() -> None:
    assert [one.can_teach for one in some_lists().lists] == [True, True]
    assert not RerankList("doc", "", [0, 1], [1, 1], [RIGHT, LEFT_OUT]).can_teach


def test_a_passage_is_stored_once() -> None:
    passages = Passages()
    assert passages.add(["a", "b", "a"]) == [0, 1, 0]
    assert passages.add(["b", "c"]) == [1, 2]
    assert passages.all() == ["a", "b", "c"]


def test_a_changed_test_is_neither_right_nor_wrong() -> None:
    label_of = load_script("train/make-rerank-lists").label_of
    change = Change("c", "p", "subject", "", ("src/a.py",), ("tests/test_a.py",))
    labels = [label_of(path, change) for path in ("src/a.py", "tests/test_a.py", "src/b.py")]
    assert labels == [RIGHT, LEFT_OUT, WRONG]


def test_a_bare_passage_has_no_comments_but_the_code_before_them() -> None:
    text = "# What runs.\ndef run():\n    start(1)  # quickly\n"
    texts = TreeTexts(lambda path: text if path == "src/a.py" else "")
    assert texts.passage("src/a.py", 1, 3) == passage_of("src/a.py", text.rstrip("\n"))
    assert texts.passage("src/a.py", 1, 3, bare=True) == passage_of("src/a.py", "def run():\n    start(1) ")


def test_pairs_have_the_question_before_the_passage_and_are_cut() -> None:
    tokens = token_lists([some_lists()], TOKENIZER)
    batch = batch_of(tokens, tokens.lists, 2)
    rows = [(row, kind) for ids, types in batch.groups for row, kind in zip(ids, types, strict=True)]
    rows = [rows[place] for place in batch.back]
    assert batch.owner.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert batch.scores.tolist() == [3, 2, 1, 4, 3, 2, 1]
    for owner, (ids, types) in zip(batch.owner, rows, strict=True):
        length = int((ids != PADDING).sum())
        question = int((types == 0)[:length].sum()) - 2
        asked = tokens.questions.row(owner)[:QUESTION_TOKENS]
        assert ids[0] == FIRST
        assert ids[length - 1] == LAST
        assert ids[1 : question + 1].tolist() == asked.tolist()
        assert length <= ALL_TOKENS
    assert max(int((ids != PADDING).sum()) for ids, _ in rows) == ALL_TOKENS


def test_training_keeps_right_passages_when_it_drops_others() -> None:
    tokens = token_lists([some_lists()], TOKENIZER)
    batch = training_batch(tokens, tokens.lists, 1, 2, np.random.default_rng(0))
    assert batch.owner.tolist() == [0, 0, 1, 1]
    assert batch.labels.tolist().count(RIGHT) == 2


def test_weights_are_read_within_half_a_level_of_what_was_written(tmp_path: Path) -> None:
    matrix = np.array([[1.0, -2.0, 0.5], [0, 0, 0]], np.float32)
    written = {WORDS: matrix, "mix.weight": matrix, "mix.bias": np.array([0.25, 3.0], np.float32)}
    write_weights(tmp_path / WEIGHTS, written)
    found = read_weights(tmp_path / WEIGHTS)
    assert set(found) == {"mix.weight", "mix.bias"}
    assert found["mix.bias"].tolist() == [0.25, 3.0]
    assert np.abs(found["mix.weight"] - matrix).max() <= 1 / 127
    levels, scale = quantised(matrix)
    assert levels.tolist() == [[64, -127, 32], [0, 0, 0]]
    assert scale.tolist() == [np.float32(2 / 127), 1]


def test_the_mean_of_models_is_that_of_each_weight() -> None:
    models = [{"a": np.array([one], np.float32)} for one in (1.0, 2.0)]
    assert mean_of(models)["a"].tolist() == [1.5]


def test_the_model_says_what_it_was_made_from_and_is_in_no_package() -> None:
    weights = read_weights(MODEL / WEIGHTS)
    assert weights["score.weight"].shape == (2, 384)
    assert weights["offset"].shape == (2,)
    data = json.loads((MODEL / "training-data.json").read_text("utf-8"))
    assert sum(sum(one["lists"].values()) for one in data) == 33_355
    named = [path.name for path in (ROOT / "models").glob("*.json") if "minilm-rerank" in path.read_text("utf-8")]
    assert named == []
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert "models/minilm-rerank/weights.npz" in build["sdist"]["exclude"]
    assert not any("minilm-rerank" in path for path in build["wheel"]["force-include"])
