"""The catalog: the shipped models match their entries, and every fault of a model is named."""

import json
import shutil
from pathlib import Path

import pytest

from sidecar.errors import ModelLoadFailed
from sidecar.parts.embed.catalog import load_catalog, models_folder, resolve_model

STATIC = "static-code-256"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Returns a copy of the models folder with the static model only."""
    folder = tmp_path / "models"
    shutil.copytree(models_folder() / STATIC, folder / STATIC)
    shutil.copyfile(models_folder() / "catalog.json", folder / "catalog.json")
    return folder


def edit(models: Path, **changes: object) -> None:
    path = models / "catalog.json"
    catalog = json.loads(path.read_text("utf-8"))
    catalog["models"][0] |= changes
    path.write_text(json.dumps(catalog), "utf-8")


def test_every_shipped_model_has_its_files_a_card_a_licence_and_a_source() -> None:
    catalog = load_catalog()
    assert [entry.id for entry in catalog.models] == [STATIC]
    for entry in catalog.models:
        files = catalog.resolve(entry.id)
        assert files.verify().startswith(f"{entry.id}@")
        assert (files.folder / "MODEL_CARD.md").is_file()
        assert entry.licence == "Apache-2.0"
        assert entry.source
        assert entry.about
        assert entry.size == sum((files.folder / name).stat().st_size for name in entry.files)


def test_no_name_means_the_default_model() -> None:
    assert resolve_model().entry.id == STATIC


def test_an_unknown_model_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ModelLoadFailed, match=r"no model \"gpt-9\": name one of static-code-256, or"):
        resolve_model("gpt-9")


def test_a_changed_file_is_refused_with_both_hashes(models: Path) -> None:
    expected = resolve_model(STATIC, models).entry.files["tokenizer.json"]
    with (models / STATIC / "tokenizer.json").open("a", encoding="utf-8") as file:
        file.write(" ")
    with pytest.raises(ModelLoadFailed, match=rf"tokenizer\.json\" is not the file of model {STATIC}.*{expected}"):
        resolve_model(STATIC, models).verify()


def test_a_missing_file_is_named(models: Path) -> None:
    (models / STATIC / "model.onnx").unlink()
    with pytest.raises(ModelLoadFailed, match=r"model\.onnx\" cannot be read \(No such file"):
        resolve_model(STATIC, models).verify()


def test_the_model_id_changes_with_what_changes_vectors_and_only_with_that(models: Path) -> None:
    before = resolve_model(STATIC, models).verify()
    edit(models, path_weight=0.9, source="elsewhere", about="something")
    assert resolve_model(STATIC, models).verify() == before
    edit(models, document_prefix="passage: ")
    assert resolve_model(STATIC, models).verify() != before


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"kind": "magic"}, 'kind must be one of static, transformer, not "magic"'),
        ({"dimension": "256"}, 'dimension must be of type int, not "256"'),
        ({"dimensions": 256}, 'unknown key "dimensions"'),
    ],
)
def test_a_wrong_entry_names_the_key_and_what_is_allowed(
    models: Path, changes: dict[str, object], complaint: str
) -> None:
    edit(models, **changes)
    with pytest.raises(ModelLoadFailed, match=complaint):
        load_catalog(models)


def test_a_catalog_that_is_not_json_is_an_error_with_its_path(models: Path) -> None:
    (models / "catalog.json").write_text("{", "utf-8")
    with pytest.raises(ModelLoadFailed, match=r"catalog\.json\" is not JSON"):
        load_catalog(models)


def test_a_folder_is_a_model_named_after_itself(models: Path) -> None:
    files = resolve_model(str(models / STATIC))
    assert (files.entry.id, files.entry.kind, files.entry.dimension) == (STATIC, "transformer", 0)


def test_a_folder_says_in_its_own_file_how_to_feed_it(models: Path) -> None:
    declared = {"id": "mine", "kind": "static", "path_weight": 1, "query_prefix": "query: "}
    (models / STATIC / "sidecar-model.json").write_text(json.dumps(declared), "utf-8")
    files = resolve_model(str(models / STATIC))
    assert (files.entry.id, files.entry.kind, files.entry.query_prefix) == ("mine", "static", "query: ")
    assert files.folder == models / STATIC


def test_a_folder_may_hold_several_graphs_and_says_which_is_meant(models: Path) -> None:
    before = resolve_model(str(models / STATIC)).verify()
    (models / STATIC / "model.onnx").rename(models / STATIC / "half.onnx")
    (models / STATIC / "sidecar-model.json").write_text(json.dumps({"graph": "half.onnx"}), "utf-8")
    files = resolve_model(str(models / STATIC))
    assert files.graph == models / STATIC / "half.onnx"
    assert files.verify() != before
    (models / STATIC / "half.onnx").unlink()
    with pytest.raises(ModelLoadFailed, match=r"half\.onnx\" cannot be read \(No such file"):
        files.verify()


def test_weights_beside_the_graph_count_for_the_model_id(models: Path) -> None:
    files = resolve_model(str(models / STATIC))
    before = files.verify()
    (models / STATIC / "model.onnx.data").write_bytes(b"weights")
    assert files.verify() != before
