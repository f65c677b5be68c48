"""What ranking uses: the analysed query, facts about paths, features by name, and combined weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.ingest.embedding_text import body_text, path_text
from sidecar.engine.search.query import understand
from sidecar.engine.search.rank import fingerprint as fingerprint_module
from sidecar.engine.search.rank import paths as paths_module
from sidecar.engine.search.rank.features import FEATURES
from sidecar.engine.search.rank.index_columns import RowTable
from sidecar.engine.search.rank.paths import PathFacts, PathTable, path_facts
from sidecar.engine.search.rank.scorer import WeightedSum, choose, learned
from sidecar.engine.wiring import real_parts
from sidecar.errors import ConfigInvalid
from sidecar.model.files import Chunk
from sidecar.parts.embed.catalog import resolve_model
from tests.engine.search_index import small_index

WITHOUT_BASE = WeightedSum(learned().weights)


@pytest.mark.parametrize(
    ("text", "names", "container"),
    [
        ("RetryPolicy", ("retrypolicy",), ""),
        ("retry_policy", ("retrypolicy",), ""),
        ("Sinatra::Helpers", ("helpers",), "sinatra"),
        ("app.run()", ("run",), "app"),
        ("Map#fetch!", ("fetch",), "map"),
        ("$state", ("state",), ""),
    ],
)
def test_a_query_of_one_name_is_a_symbol(text: str, names: tuple[str, ...], container: str) -> None:
    query = understand(text)
    assert (query.is_symbol, query.names, query.container) == (True, names, container)


def test_identifiers_inside_a_question_are_names() -> None:
    query = understand("How does HTTPAdapter call send_all() for each `pool` in urllib3?")
    assert not query.is_symbol
    assert query.names == ("httpadapter", "sendall", "pool", "urllib3")


def test_a_question_in_plain_words_names_nothing_but_its_neighbours_may_be_one_name() -> None:
    query = understand("where is the retry policy")
    assert query.names == ()
    assert query.plain == ("retry", "policy")
    assert query.joined == ("retrypolicy",)


def test_a_question_about_tests_or_examples_is_noticed() -> None:
    assert understand("test of the parser").wants_tests
    assert understand("usage example").wants_examples
    assert not understand("latest parser").wants_tests
    assert understand("what does the changelog say").wants_prose
    assert understand("the scripts in package.json").wants_prose


def test_a_long_text_contains_such_words_without_asking_for_anything_by_them() -> None:
    asking = "unit tests, examples and documentation of the Windows backend"
    short, long = understand(asking), understand(f"{asking}\n{'The same happens to us. ' * 10}")
    assert (short.wants_tests, short.wants_examples, short.wants_prose, short.wants_platform) == (True,) * 4
    assert (long.wants_tests, long.wants_examples, long.wants_prose, long.wants_platform) == (False,) * 4


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("test of the retry policy", True),
        ("unit tests for the parser", True),
        ("which tests cover retries", True),
        ("where is the parser tested?", True),
        ("fixtures that the router tests use", True),
        ("router tests", True),
        ("test_parse_headers", True),
        ("ParserTest", True),
        ("how setup hooks are called around each test", False),
        ("skip a test without marking it as failed", False),
        ("how are test results formatted", False),
        ("where a value is tested for null", False),
        ("test client that simulates requests", False),
        ("latest", False),
    ],
)
def test_tests_are_asked_for_only_where_they_are_what_is_sought(text: str, wanted: bool) -> None:
    assert understand(text).wants_tests is wanted


@pytest.mark.parametrize(
    ("path", "fact"),
    [
        ("tests/parse.py", "test"),
        ("Tests/KitTests/Layout.swift", "test"),
        ("src/ParserTests/Cases.cs", "test"),
        ("Core.Tests/Queries.cs", "test"),
        ("checks/load.bats", "test"),
        ("src/test_parse.py", "test"),
        ("src/parse/tests.rs", "test"),
        ("Kit.playground/Contents.swift", "example"),
        ("man/tool.hs", "example"),
        ("include_all/single_header/kit.hpp", "foreign"),
        ("src/win/poll.c", "platform"),
        ("src/poll_windows.go", "platform"),
        ("src/parser_test.go", "test"),
        ("web/app.spec.ts", "test"),
        ("core/src/main/ParserTest.java", "test"),
        ("examples/basic/main.rs", "example"),
        ("benchmarks/run.py", "example"),
        ("third_party/zlib/inflate.c", "foreign"),
    ],
)
def test_a_path_says_what_its_file_is_for(path: str, fact: str) -> None:
    facts = path_facts(path)
    assert getattr(facts, fact) == 1.0
    assert sum(facts) == 1.0


@pytest.mark.parametrize(
    "path",
    ["src/latest.py", "lib/attestation/check.go", "src/contest.rs", "app/inspector.rb", "lib/test_functions.bash"],
)
def test_ordinary_paths_that_contain_the_word_are_not_tests(path: str) -> None:
    assert sum(path_facts(path)) == 0


def test_what_tests_need_may_be_the_product_of_a_workspace() -> None:
    assert path_facts("src/mock/matcher.go").test == path_facts("pkg/spec/header.go").test == 0.5
    assert path_facts("tests/mock/matcher.go").test == 1.0


def test_settings_and_text_are_no_code_unless_they_are_most_of_the_workspace() -> None:
    paths, languages = ["a.py", "b.yml", "c.rst"], ["python", "yaml", "rst"]
    assert PathTable(paths, languages, np.ones(3, bool)).prose.tolist() == [0, 1, 1]
    roles = [f"roles/{n}.yml" for n in range(9)]
    assert not PathTable(["a.py", *roles], ["python", *["yaml"] * 9], np.ones(10, bool)).prose.any()


def test_a_table_of_paths_continues_that_of_another_revision_without_judging_what_that_one_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = ["a.py", "tests/b.py", "docs/c.rst", "d.yml"]
    former = PathTable(old, ["python", "python", "rst", "yaml"], np.ones(4, bool))
    former.look_at(np.arange(4, dtype=np.int32))
    now, languages = ["a.py", "docs/c.rst", "d.yml", "examples/e.md"], ["python", "rst", "yaml", "markdown"]
    judged: list[str] = []

    def judge(path: str) -> PathFacts:
        judged.append(path)
        return path_facts(path)

    monkeypatch.setattr(paths_module, "path_facts", judge)
    table = PathTable(now, languages, np.ones(4, bool), former, [(0, 0, 1), (1, 2, 2)])
    anew = PathTable(now, languages, np.ones(4, bool))
    for one in (table, anew):
        one.look_at(np.arange(4, dtype=np.int32))
    assert judged == ["examples/e.md", *now]
    for name in ("facts", "stems", "barrels", "prose"):
        assert getattr(table, name).tolist() == getattr(anew, name).tolist()


def test_rows_are_found_by_id_whether_ids_are_dense_or_scattered() -> None:
    for ids in (np.array([5, 6, 8], np.int64), np.array([5, 10**6, 10**12], np.int64)):
        asked = np.concatenate([ids, [0, 7, 2 * 10**12]])
        assert RowTable(ids).rows(asked).tolist() == [0, 1, 2, -1, -1, -1]
    assert RowTable(np.zeros(0, np.int64)).rows(np.array([1, 2], np.int64)).tolist() == [-1, -1]


def test_every_weight_belongs_to_a_feature_and_every_feature_has_a_weight() -> None:
    names = [feature.name for feature in FEATURES]
    assert len(set(names)) == len(names)
    assert set(names) == set(learned().weights)


def test_the_learned_weights_were_trained_on_these_features_this_model_and_these_chunks() -> None:
    """If it fails, run scripts/train/train-ranker (with `--stamp` if no feature changed its meaning)."""
    weights = Path(fingerprint_module.__file__).with_name("weights.json")
    parts = real_parts({}, {}, {})
    now = fingerprint_module.fingerprint(parts.versions, resolve_model().verify())
    assert json.loads(weights.read_text())["fingerprint"] == now


def test_weights_are_chosen_by_name_or_file_and_bad_ones_are_refused(tmp_path: Path) -> None:
    assert choose("learned") == choose("") == learned()
    file = tmp_path / "weights.json"
    file.write_text('{"base": 1, "weights": {"best_chunk": 2}}')
    assert choose(str(file)) == WeightedSum({"best_chunk": 2.0}, 1.0)
    file.write_text('{"base": 1, "weights": {"best_chunk": 2}, "long": {"base": 0, "weights": {"similarity": 3}}}')
    assert choose(str(file)) == WeightedSum({"best_chunk": 2.0}, 1.0, WeightedSum({"similarity": 3.0}))
    bad_long = '{"base": 1, "weights": {}, "long": {"base": 0, "weights": {"best_guess": 2}}}'
    for text in ('{"base": 1, "weights": {"best_guess": 2}}', bad_long, '{"weights": []}', "{"):
        file.write_text(text)
        with pytest.raises(ConfigInvalid, match=r"[Tt]rain"):
            choose(str(file))


def test_the_best_in_every_respect_scores_one_and_the_worst_zero() -> None:
    signs = np.array([WITHOUT_BASE.weights[feature.name] > 0 for feature in FEATURES], np.float32)
    best, worst = WITHOUT_BASE.score(np.stack([signs, 1 - signs]), 0.5).tolist()
    assert best == pytest.approx(1.0)
    assert 0 < worst < 0.01


def test_penalties_never_make_scores_equal() -> None:
    features = np.zeros((3, len(FEATURES)), np.float32)
    names = [feature.name for feature in FEATURES]
    features[:, names.index("is_test")] = 1
    features[:, names.index("best_chunk")] = (0.1, 0.2, 0.3)
    assert np.diff(WITHOUT_BASE.score(features, 0.5)).min() > 1e-5


def test_families_fade_with_alpha() -> None:
    everything = np.ones(len(FEATURES), np.float32)
    families = {feature.name: feature.family for feature in FEATURES}
    by_word = WITHOUT_BASE.contributions(everything, 0.0)
    by_meaning = WITHOUT_BASE.contributions(everything, 1.0)
    assert "meaning" not in {families[name] for name in by_word}
    assert "word" not in {families[name] for name in by_meaning}
    assert "is_test" in by_word
    assert "is_test" in by_meaning


def test_a_qualified_name_finds_the_member_of_that_container(tmp_path: Path) -> None:
    files = {
        "cat.py": "class Cat:\n    def feed(self):\n        return 'fish'\n",
        "dog.py": "class Dog:\n    def feed(self):\n        return 'bone'\n",
    }
    with small_index(tmp_path, files) as index:
        assert index.paths("Dog.feed")[0] == "dog.py"
        assert index.paths("Cat::feed")[0] == "cat.py"


def test_a_file_named_after_its_folder_is_found_by_it(tmp_path: Path) -> None:
    files = {f"src/{name}/mod.rs": "pub fn run() -> u32 { 1 }\n" for name in ("extract", "routing", "serve")}
    with small_index(tmp_path, files) as index:
        assert index.paths("extract")[0] == "src/extract/mod.rs"


def test_the_model_reads_enclosing_names_before_the_text_and_the_path_apart() -> None:
    chunk = Chunk(3, 4, "def feed(self): ...", "method", ("feed",), ("Zoo", "Cat"))
    assert body_text(chunk) == "Zoo Cat\ndef feed(self): ..."
    assert body_text(Chunk(1, 1, "x = 1", "code")) == "x = 1"
    assert path_text("src/extract/mod.rs") == "extract src extract mod rs"
