"""The list of published models: every entry can be checked, and an error for a model that is not installed says what to
do."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from sidecar.errors import ModelLoadFailed
from sidecar.parts.embed.catalog import load_catalog, models_folder
from sidecar.parts.embed.published import LOCK_FILE, Shelf, load_published

COMMIT = re.compile("[0-9a-f]{40}")
ENTRY = {
    "id": "m",
    "repository": "a/b",
    "revision": "main",
    "download": {"model.onnx": {"path": "onnx/model.onnx"}},
}


def test_every_published_model_names_its_commit_files_pooling_and_licence() -> None:
    models = load_published(models_folder())
    ids = [model.entry.id for model in models]
    assert len(set(ids)) == len(ids) >= 10
    assert not set(ids) & {entry.id for entry in load_catalog().models}
    for model in models:
        entry = model.entry
        assert {entry.graph, "tokenizer.json"} <= set(model.files)
        assert entry.kind == "transformer"
        assert entry.pooling
        assert entry.licence
        assert entry.dimension > 0
        assert entry.max_tokens > 0
        assert model.entry.about
        assert model.released or model.repository in entry.source
        # A branch may move: then the hub has to state the hashes, and the lock remembers them.
        if model.released:
            assert all(file.sha256 and file.size for file in model.files.values())
            continue
        assert COMMIT.fullmatch(model.revision) or not any(file.sha256 for file in model.files.values())


def test_the_page_about_models_says_of_each_what_the_list_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
    rows = [row.split(" | ") for row in page.splitlines() if row.startswith("| [`")]
    described = {row[0].removeprefix("| ").strip("[`]"): row[1] for row in rows}
    assert described == {model.entry.id: model.entry.about for model in load_published(models_folder())}


def test_hashes_and_sizes_are_those_that_the_catalog_pins() -> None:
    [small] = [model for model in load_published(models_folder()) if model.entry.id == "bge-small-en-v1.5"]
    assert small.size == 133_093_490 + 711_396
    assert small.entry.files["model.onnx"].startswith("828e1496d7fa")


def test_a_model_that_was_not_downloaded_says_how_to_download_it(tmp_path: Path) -> None:
    with pytest.raises(
        ModelLoadFailed,
        match=r"bge-small-en-v1\.5 is not on this machine\. Download it with: "
        r"sidecar models download bge-small-en-v1\.5 \(134 MB\)",
    ):
        Shelf(tmp_path).resolve("bge-small-en-v1.5")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("bge-smal-en", "did you mean bge-small-en-v1.5"),
        ("minilm", "did you mean minilm-code-int8 or minilm-code-fp16 or all-minilm-l6-v2"),
        ("gpt-9", "`sidecar models list` names all models"),
    ],
)
def test_an_unknown_name_is_answered_with_near_ones(tmp_path: Path, name: str, meant: str) -> None:
    with pytest.raises(ModelLoadFailed, match=rf'There is no model "{name}": {meant}'):
        Shelf(tmp_path).resolve(name)


def test_what_ships_and_folders_are_found_as_before(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    assert shelf.resolve().entry.id == "static-code-256"
    assert shelf.resolve(str(models_folder() / "static-code-256")).folder == models_folder() / "static-code-256"


OURS = ("minilm-code-int8", "minilm-code-fp16")


@pytest.mark.parametrize("name", OURS)
def test_a_checkout_has_the_files_of_our_own_transformer(name: str) -> None:
    shelf = Shelf(None)
    model = shelf.find(name)
    assert model is not None
    files = shelf.resolve(name)
    assert files.folder == models_folder() / "minilm-code"
    assert files.verify().startswith(f"{name}@")
    assert model.size == sum((files.folder / file).stat().st_size for file in model.files)
    assert (files.folder / "MODEL_CARD.md").is_file()


def test_both_graphs_of_our_transformer_ask_a_release_for_the_same_file_of_weights() -> None:
    paths = [{file.path for file in model.files.values()} for model in Shelf(None).published if model.released]
    assert len(paths) == len(OURS)
    assert paths[0] & paths[1] == {"minilm-code-weights.bin", "minilm-code-tokenizer.json"}


@pytest.mark.parametrize("name", OURS)
def test_without_a_checkout_one_sentence_says_that_it_no_longer_ships_and_how_to_get_it(
    tmp_path: Path, name: str
) -> None:
    shelf = Shelf(tmp_path / "downloads", package(tmp_path))
    assert not any(shelf.is_here(model) for model in shelf.published)
    with pytest.raises(ModelLoadFailed) as raised:
        shelf.resolve(name)
    assert raised.value.detail.startswith(
        f"Model {name} is not on this machine: it no longer ships with sidecar. "
        f"Download it with: sidecar models download {name} (2"
    )


@pytest.mark.parametrize("name", OURS)
def test_files_of_ours_that_somebody_has_copied_are_the_model_with_the_same_id(tmp_path: Path, name: str) -> None:
    shelf = Shelf(tmp_path / "downloads", package(tmp_path))
    model = shelf.find(name)
    assert model is not None
    folder = tmp_path / "downloads" / name
    folder.mkdir(parents=True)
    *first, last = model.files
    for file in first:
        shutil.copyfile(models_folder() / "minilm-code" / file, folder / file)
    assert not shelf.is_here(model)
    shutil.copyfile(models_folder() / "minilm-code" / last, folder / last)
    assert shelf.is_here(model)
    assert shelf.resolve(name).verify() == Shelf(None).resolve(name).verify()
    (folder / last).write_bytes(b"other")
    with pytest.raises(ModelLoadFailed, match=f"is not the file of model {name}.*sidecar models download {name}"):
        shelf.resolve(name).verify()


def package(folder: Path) -> Path:
    """Returns a folder of models as a wheel has it."""
    packed = folder / "_models"
    packed.mkdir()
    for name in ("catalog.json", "published.json"):
        shutil.copyfile(models_folder() / name, packed / name)
    return packed


@pytest.mark.parametrize("lock", ["{", "[]", '{"repository": "a/b", "revision": "main"}'])
def test_a_lock_that_says_nothing_is_an_error_and_not_a_model(tmp_path: Path, lock: str) -> None:
    shelf = shelf_with(tmp_path, ENTRY)
    folder = tmp_path / "downloads" / "m"
    folder.mkdir(parents=True)
    (folder / LOCK_FILE).write_text(lock, "utf-8")
    with pytest.raises(ModelLoadFailed):
        shelf.resolve("m")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"repository": ""}, "needs a repository"),
        ({"repository": "../a"}, "needs a repository"),
        ({"revision": "x?y"}, "needs a revision"),
        ({"id": "../m"}, "needs a plain id"),
        ({"download": []}, "needs a plain id and an object"),
        ({"download": {"../x": {"path": "x"}}}, "is not a path, a size and a SHA-256"),
        ({"download": {"x": {"path": "../x"}}}, "is not a path, a size and a SHA-256"),
        ({"download": {"x": {"path": "x", "sha256": "abc"}}}, "is not a path, a size and a SHA-256"),
        ({"download": {"x": {"path": "x", "sise": 1}}}, "is not a path, a size and a SHA-256"),
        ({"dimensions": 3}, 'unknown key "dimensions"'),
    ],
)
def test_a_wrong_entry_says_what_is_wrong(tmp_path: Path, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(ModelLoadFailed, match=complaint):
        shelf_with(tmp_path, ENTRY | changes)


def shelf_with(tmp_path: Path, entry: Mapping[str, object]) -> Shelf:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copyfile(models_folder() / "catalog.json", folder / "catalog.json")
    (folder / "published.json").write_text(json.dumps({"models": [entry]}), "utf-8")
    return Shelf(tmp_path / "downloads", folder)
