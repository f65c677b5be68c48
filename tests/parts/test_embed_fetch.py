"""Downloading a model from a real server process with the hub's addresses: what is checked, refused and left on
disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import Cancelled, DiskFull, ModelDownloadFailed, ModelLoadFailed
from sidecar.model.terms import no_progress
from sidecar.parts.embed.catalog import ModelEntry, ModelFiles, models_folder
from sidecar.parts.embed.fetch import fetch_model
from sidecar.parts.embed.onnx import OnnxEmbedder
from sidecar.parts.embed.published import LOCK_FILE, UNFINISHED, Published, RemoteFile, Shelf
from tests import hub as hubs
from tests.hub import COMMIT, Hub

STATIC = models_folder() / "static-code-256"
REPOSITORY = "acme/static"
PATHS = {"model.onnx": "onnx/model.onnx", "tokenizer.json": "tokenizer.json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("hub")
    for name, path in PATHS.items():
        target = folder / REPOSITORY / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(STATIC / name, target)
    with hubs.running(folder) as hub:
        yield hub


@pytest.fixture
def hub(server: Hub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    server.faults()
    server.forget_requests()
    return server


def published(pinned: bool = True, **changes: Any) -> Published:
    """Publishes the shipped static model on the test's hub."""
    files = {
        name: RemoteFile(path, (STATIC / name).stat().st_size, hubs.sha256(STATIC / name))
        if pinned
        else RemoteFile(path)
        for name, path in PATHS.items()
    }
    entry = ModelEntry("static-hub", kind="static", dimension=256, pooling="graph")
    return replace(Published(entry, REPOSITORY, COMMIT if pinned else "main", files), **changes)


def fetch(model: Published, downloads: Path, hub: Hub) -> Path:
    return fetch_model(model, downloads, hub.source, no_progress)


def assert_nothing_is_there(downloads: Path) -> None:
    assert [path.name for path in downloads.iterdir()] == [UNFINISHED]


def test_a_pinned_model_is_downloaded_checked_and_runs(hub: Hub, tmp_path: Path) -> None:
    reports: list[tuple[int, int, str]] = []
    folder = fetch_model(published(), tmp_path, hub.source, lambda *report: reports.append(report))
    assert folder == tmp_path / "static-hub"
    assert {path.name for path in folder.iterdir()} == {"model.onnx", "tokenizer.json", LOCK_FILE}
    assert (folder / "model.onnx").read_bytes() == (STATIC / "model.onnx").read_bytes()
    assert list((tmp_path / UNFINISHED).iterdir()) == []
    size = sum((STATIC / name).stat().st_size for name in PATHS)
    whole = f"{size / 1e6:.1f}"
    assert reports[-1] == (size, size, f"Downloading tokenizer.json: {whole} of {whole} MB")
    assert [done for done, _, _ in reports] == sorted(done for done, _, _ in reports)
    assert not [asked for asked in hub.requests() if asked["path"].startswith("/api")]
    embedder = OnnxEmbedder(files_of(published(), tmp_path), "cpu", 1)
    assert embedder.embed_documents(["open a file"]).shape == (1, 256)
    embedder.close()


def test_a_model_of_a_release_is_asked_for_at_the_address_of_that_release_alone(hub: Hub, tmp_path: Path) -> None:
    """There the files are side by side. The hub, or a mirror, is not asked."""
    released = published(released=True, address=f"{hub.source}/{REPOSITORY}/resolve/{COMMIT}/onnx")
    pinned = replace(released.files["model.onnx"], path="model.onnx")
    one = replace(released, files={"model.onnx": pinned})
    folder = fetch_model(one, tmp_path, "https://hub.invalid", no_progress)
    assert hub.requests()[0]["path"] == f"/{REPOSITORY}/resolve/{COMMIT}/onnx/model.onnx"
    assert (folder / "model.onnx").read_bytes() == (STATIC / "model.onnx").read_bytes()


def files_of(model: Published, downloads: Path) -> ModelFiles:
    return Shelf(downloads).downloaded(model)


def test_what_the_catalog_does_not_pin_the_hub_states_for_one_commit(hub: Hub, tmp_path: Path) -> None:
    folder = fetch(published(pinned=False), tmp_path, hub)
    asked = [request["path"] for request in hub.requests()]
    assert asked[0] == f"/api/models/{REPOSITORY}/revision/main?blobs=true"
    assert f"/{REPOSITORY}/resolve/{COMMIT}/onnx/model.onnx" in asked
    lock = json.loads((folder / LOCK_FILE).read_text("utf-8"))
    assert (lock["revision"], lock["commit"]) == ("main", COMMIT)
    assert lock["files"]["tokenizer.json"]["sha256"] == hubs.sha256(STATIC / "tokenizer.json")
    files_of(published(pinned=False), tmp_path).verify()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_file_with_another_hash_is_refused_and_thrown_away(hub: Hub, tmp_path: Path, pinned: bool, name: str) -> None:
    hub.faults(**{PATHS[name]: "changed"})
    with pytest.raises(ModelDownloadFailed, match=r"is not the expected file.*but must be"):
        fetch(published(pinned), tmp_path, hub)
    assert_nothing_is_there(tmp_path)
    assert not list(tmp_path.rglob(f"{name}*"))


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("500", "answers 500: the server failed"),
        ("401", "answers 401: it asks for a login"),
        ("404", "answers 404: there is no such file"),
        ("too long", f"is longer than the expected {(STATIC / 'model.onnx').stat().st_size} bytes"),
        ("redirect http://192.0.2.1/model", "redirects to http://192.0.2.1/model, which is not https"),
        ("redirect ftp://192.0.2.1/model", "redirects to|protocol"),
    ],
)
def test_a_server_that_does_not_give_the_file_is_an_error_that_says_how(
    hub: Hub, tmp_path: Path, fault: str, complaint: str
) -> None:
    hub.faults(**{"onnx/model.onnx": fault})
    with pytest.raises(ModelDownloadFailed, match=complaint):
        fetch(published(), tmp_path, hub)
    assert_nothing_is_there(tmp_path)


@pytest.mark.parametrize("fault", ["not json", "another commit"])
def test_a_hub_that_states_something_else_is_refused(hub: Hub, tmp_path: Path, fault: str) -> None:
    hub.faults(api=fault)
    model = replace(published(pinned=False), revision=COMMIT)
    with pytest.raises(ModelDownloadFailed, match="does not list its files in the form of the Hugging Face hub"):
        fetch(model, tmp_path, hub)


def test_a_hash_of_the_catalog_wins_over_what_the_hub_states(hub: Hub, tmp_path: Path) -> None:
    files = {**published(pinned=False).files, "model.onnx": RemoteFile("onnx/model.onnx", 0, "0" * 64)}
    with pytest.raises(ModelDownloadFailed, match=f"The hub states SHA-256 .* the catalog says {'0' * 64}"):
        fetch(published(pinned=False, files=files), tmp_path, hub)


def test_a_file_that_the_repository_lacks_is_named(hub: Hub, tmp_path: Path) -> None:
    files = {**published(pinned=False).files, "model.onnx_data": RemoteFile("onnx/model.onnx_data")}
    with pytest.raises(ModelDownloadFailed, match=r"no file \"onnx/model\.onnx_data\" at this revision"):
        fetch(published(pinned=False, files=files), tmp_path, hub)


def test_a_download_that_was_cut_is_taken_up_where_it_ended(hub: Hub, tmp_path: Path) -> None:
    hub.faults(**{"onnx/model.onnx": "cut"})
    with pytest.raises(ModelDownloadFailed, match=r"continues from there|what has been downloaded is kept"):
        fetch(published(), tmp_path, hub)
    assert_nothing_is_there(tmp_path)
    [part] = tmp_path.rglob("*.part")
    arrived = part.stat().st_size
    assert 0 < arrived < (STATIC / "model.onnx").stat().st_size
    hub.faults()
    hub.forget_requests()
    fetch(published(), tmp_path, hub)
    assert f"bytes={arrived}-" in [request["range"] for request in hub.requests()]
    files_of(published(), tmp_path).verify()


def test_what_arrived_damaged_is_thrown_away_and_asked_for_again(hub: Hub, tmp_path: Path) -> None:
    staged = tmp_path / UNFINISHED / f"static-hub@{COMMIT[:12]}"
    staged.mkdir(parents=True)
    (staged / "model.onnx.part").write_bytes(b"x" * 1000)
    (staged / "tokenizer.json").write_bytes(b"a whole file, but another one")
    fetch(published(), tmp_path, hub)
    files_of(published(), tmp_path).verify()


def test_a_server_without_ranges_is_asked_from_the_start(hub: Hub, tmp_path: Path) -> None:
    hub.faults(**{"onnx/model.onnx": "no ranges"})
    staged = tmp_path / UNFINISHED / f"static-hub@{COMMIT[:12]}"
    staged.mkdir(parents=True)
    (staged / "model.onnx.part").write_bytes((STATIC / "model.onnx").read_bytes()[:5000])
    fetch(published(), tmp_path, hub)
    files_of(published(), tmp_path).verify()


def test_a_cancelled_download_leaves_no_model_and_goes_on_later(hub: Hub, tmp_path: Path) -> None:
    asked = iter(range(100))
    with pytest.raises(Cancelled, match="What has been downloaded is kept"):
        fetch_model(published(), tmp_path, hub.source, no_progress, lambda: next(asked) > 3)
    assert_nothing_is_there(tmp_path)
    fetch(published(), tmp_path, hub)
    files_of(published(), tmp_path).verify()


def test_another_revision_takes_the_place_of_the_old_one_only_when_it_is_whole(hub: Hub, tmp_path: Path) -> None:
    old, new = published(), replace(published(), revision="fedcba9876543210fedcba9876543210fedcba98")
    fetch(old, tmp_path, hub)
    assert Shelf(tmp_path).is_here(old)
    hub.faults(**{"tokenizer.json": "500"})
    with pytest.raises(ModelDownloadFailed):
        fetch(new, tmp_path, hub)
    assert Shelf(tmp_path).is_here(old)
    with pytest.raises(ModelLoadFailed, match=r"another revision of model static-hub\. Download it with"):
        files_of(new, tmp_path)
    hub.faults()
    fetch(new, tmp_path, hub)
    assert Shelf(tmp_path).is_here(new)
    assert not Shelf(tmp_path).is_here(old)
    assert list((tmp_path / UNFINISHED).iterdir()) == []


def test_a_later_change_of_a_file_is_refused_by_what_the_lock_remembers(hub: Hub, tmp_path: Path) -> None:
    folder = fetch(published(pinned=False), tmp_path, hub)
    with (folder / "tokenizer.json").open("ab") as file:
        file.write(b" ")
    with pytest.raises(ModelLoadFailed, match=r"tokenizer\.json\" is not the file of model static-hub.*download"):
        files_of(published(pinned=False), tmp_path).verify()


def test_weights_beside_the_graph_come_along_and_are_found(hub: Hub, tmp_path: Path) -> None:
    repository = hub.folder / "acme" / "external"
    repository.mkdir(parents=True, exist_ok=True)
    with_weights_beside(STATIC / "model.onnx", repository / "model.onnx", "weights.bin")
    shutil.copyfile(STATIC / "tokenizer.json", repository / "tokenizer.json")
    assert (repository / "weights.bin").stat().st_size > 1_000_000
    names = ("model.onnx", "weights.bin", "tokenizer.json")
    model = published(False, repository="acme/external", files={name: RemoteFile(name) for name in names})
    folder = fetch(model, tmp_path, hub)
    embedder, plain = OnnxEmbedder(files_of(model, tmp_path), "cpu", 1), OnnxEmbedder(Shelf(None).resolve(), "cpu", 1)
    similarity = (embedder.embed_documents(["open a file"]) * plain.embed_documents(["open a file"])).sum()
    assert similarity == pytest.approx(1, abs=1e-3)
    (folder / "weights.bin").write_bytes(b"others")
    with pytest.raises(ModelLoadFailed, match=r"weights\.bin\" is not the file of model static-hub"):
        files_of(model, tmp_path).verify()


def with_weights_beside(graph: Path, target: Path, weights: str) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", weights)
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def test_a_model_that_does_not_fit_its_entry_says_what_does_not_fit(hub: Hub, tmp_path: Path) -> None:
    model = published(entry=replace(published().entry, dimension=768))
    fetch(model, tmp_path, hub)
    with pytest.raises(ModelLoadFailed, match="vectors of 256 numbers, but its entry says 768"):
        OnnxEmbedder(files_of(model, tmp_path), "cpu", 1)


@pytest.mark.parametrize(
    "source",
    [
        "http://example.com",
        "ftp://example.com",
        "huggingface.co",
        "https://",
        "https://me:word@example.com",
        "https://a/?b",
    ],
)
def test_a_source_that_is_not_https_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(ModelDownloadFailed, match="must begin with https://"):
        fetch_model(published(), tmp_path, source, no_progress)


def test_more_than_the_disk_has_is_not_begun(hub: Hub, tmp_path: Path) -> None:
    enough = range(shutil.disk_usage(tmp_path).free // 4 // 1024**3 + 1)
    huge = {f"weights{number}": RemoteFile("tokenizer.json", 4 * 1024**3, "0" * 64) for number in enough}
    with pytest.raises(DiskFull, match="MB are free"):
        fetch(published(files={**published().files, **huge}), tmp_path, hub)
    assert hub.requests() == []


@pytest.mark.process
def test_a_disk_that_fills_up_is_said_and_leaves_no_model(hub: Hub, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", disk], check=False).returncode:
        pytest.skip("mounting a small disk needs the superuser")
    try:
        filler = disk / "filler"

        def fill_up(done: int, total: int, message: str) -> None:
            if not filler.exists():
                filler.write_bytes(b"x" * (shutil.disk_usage(disk).free - 1_000_000))

        with pytest.raises(DiskFull, match="Free some space"):
            fetch_model(published(), disk / "models", hub.source, fill_up)
        assert_nothing_is_there(disk / "models")
        filler.unlink()
        fetch(published(), disk / "models", hub)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_the_proxy_that_the_environment_names_is_asked(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", hub.source)
    with pytest.raises(ModelDownloadFailed, match="CONNECT"):
        fetch_model(published(), tmp_path, "https://models.invalid", no_progress)


@pytest.mark.process
def test_https_wants_a_certificate_that_the_system_trusts(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, public = tmp_path / "certificate.pem", tmp_path / "public.pem"
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    line += [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(certificate),
        "-out",
        str(tmp_path / "public.pem"),
    ]
    if shutil.which("openssl") is None or subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("making a certificate needs openssl")
    with certificate.open("a", encoding="utf-8") as file:
        file.write(public.read_text("utf-8"))
    with hubs.running(hub.folder, certificate) as safe:
        with pytest.raises(ModelDownloadFailed, match=r"(?i)certificate"):
            fetch(published(), tmp_path / "models", safe)
        assert hub.requests() == []
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        fetch(published(), tmp_path / "models", safe)
        hub.faults(**{"onnx/model.onnx": f"redirect {hub.source}/cdn/{REPOSITORY}/onnx/model.onnx"})
        with pytest.raises(ModelDownloadFailed, match=f"redirects to {hub.source}/.*, which is not https"):
            fetch(published(), tmp_path / "others", safe)


def test_nothing_about_the_user_is_sent(hub: Hub, tmp_path: Path) -> None:
    fetch(published(), tmp_path, hub)
    assert {request["agent"].partition("/")[0] for request in hub.requests()} == {"sidecar"}
