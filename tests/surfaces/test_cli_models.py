"""`sidecar models` as a real process against a real hub process: list, show, download, and use of the downloaded
model."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sidecar.parts.embed.published import Shelf
from sidecar.settings.values import DEFAULTS
from tests import hub as hubs
from tests.hub import Hub
from tests.installed import MINILM, command, environment, install, serve_minilm
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

WHOLE_KB = Shelf(None).resolve("minilm-code-int8").entry.size // 1000


class Place(NamedTuple):
    """An installation with its hub; each test has a home of its own."""

    site: Path
    work: Path
    hub: Hub
    home: Path

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words),
            cwd=self.work,
            env=self.env(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def env(self, **more: str) -> dict[str, str]:
        return environment(self.site, self.home, **{"SIDECAR_MODELS_SOURCE": self.hub.source, **more})


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, Hub]]:
    folder = tmp_path_factory.mktemp("installed")
    entry = serve_minilm(folder / "hub")
    others = [
        {**entry, "id": "minilm-misfit", "dimension": 768},
        {**entry, "id": "minilm-mean", "pooling": "mean"},
        {**entry, "id": "minilm-ours", "released": True, "folder": "minilm-ours"},
    ]
    site = install(folder / "site", [entry, *others])
    work = folder / "work"
    (work / ".git").mkdir(parents=True)
    (work / "socket.py").write_text("def open_socket(host):\n    return connect(host, 80)\n", "utf-8")
    with hubs.running(folder / "hub") as hub:
        yield site, work, hub


@pytest.fixture
def place(installed: tuple[Path, Path, Hub], tmp_path: Path) -> Place:
    installed[2].faults()
    installed[2].forget_requests()
    return Place(*installed, tmp_path / "home")


def test_a_model_is_listed_shown_downloaded_and_used(place: Place) -> None:
    def state() -> str:
        models = json.loads(place.run("models", "--json").stdout)["models"]
        return str(next(model["state"] for model in models if model["id"] == "minilm-hub"))

    assert state() == "published"
    shown = json.loads(place.run("models", "show", "minilm-hub", "--json").stdout)
    assert (shown["dimension"], shown["revision"], shown["folder"]) == (384, hubs.COMMIT, "")

    refused = place.run("index", "--model", "minilm-hub")
    assert refused.returncode == 7
    assert "Download it with: sidecar models download minilm-hub (24 MB)" in refused.stderr
    assert place.hub.requests() == []

    done = place.run("models", "download", "minilm-hub", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["status"], report["model"]["state"]) == (0, "downloaded", "downloaded")
    assert Path(report["model"]["folder"]) == place.home / "models" / "minilm-hub"
    assert "Downloading" not in done.stderr
    assert state() == "downloaded"

    place.hub.forget_requests()
    again = place.run("models", "download", "minilm-hub")
    assert again.returncode == 0
    assert "is already there, and its files are intact" in again.stdout
    assert place.hub.requests() == []

    assert place.run("index", "--model", "minilm-hub").returncode == 0
    found = json.loads(place.run("search", "open a socket", "-m", "vector", "--model", "minilm-hub", "--json").stdout)
    assert found["results"][0]["path"] == "socket.py"
    assert json.loads(place.run("status", "--model", "minilm-hub", "--json").stdout)["model"].startswith("minilm-hub@")


def test_a_damaged_download_is_repaired_by_the_same_command(place: Place) -> None:
    assert place.run("models", "download", "minilm-hub").returncode == 0
    with (place.home / "models" / "minilm-hub" / "tokenizer.json").open("ab") as file:
        file.write(b" ")
    checked = place.run("doctor", "--model", "minilm-hub")
    assert "is not the file of model minilm-hub" in checked.stdout
    repaired = json.loads(place.run("models", "download", "minilm-hub", "--json").stdout)
    assert repaired["status"] == "downloaded"
    assert place.run("doctor", "--model", "minilm-hub").returncode == 0


def test_an_interrupted_download_leaves_no_model_and_is_taken_up_again(place: Place) -> None:
    place.hub.faults(**{"onnx/weights.bin": "stall"})
    line = command("models", "download", "minilm-hub")
    before = f": {(MINILM / 'int8.onnx').stat().st_size / 1e6:.1f} of"
    with subprocess.Popen(line, cwd=place.work, env=place.env(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "Downloading weights.bin" not in (said := process.stderr.readline()) or before in said:
            assert said
        process.send_signal(signal.SIGINT)
        assert "What has been downloaded is kept" in process.stderr.read()
        assert process.wait(PATIENCE_S) == 130
    assert not (place.home / "models" / "minilm-hub").exists()
    place.hub.faults()
    place.hub.forget_requests()
    assert place.run("models", "download", "minilm-hub").returncode == 0
    assert any(request["range"].startswith("bytes=") for request in place.hub.requests())
    assert place.run("doctor", "--model", "minilm-hub").returncode == 0


def test_a_wrong_hash_is_an_error_with_both_hashes(place: Place) -> None:
    place.hub.faults(**{"onnx/model.onnx": "changed"})
    refused = place.run("models", "download", "minilm-hub", "--json")
    error = json.loads(refused.stderr[refused.stderr.index("{") :])["error"]
    assert (refused.returncode, error["code"]) == (7, "MODEL_DOWNLOAD_FAILED")
    assert "but must be" in error["detail"]
    assert not (place.home / "models" / "minilm-hub").exists()


@pytest.mark.parametrize(
    ("model", "reason"),
    [("minilm-misfit", "vectors of 384 numbers, but its entry says 768"), ("minilm-mean", "has no output of shape")],
)
def test_a_model_that_does_not_fit_its_entry_is_named_when_it_has_come(place: Place, model: str, reason: str) -> None:
    refused = place.run("models", "download", model)
    assert refused.returncode == 7
    assert reason in refused.stderr
    assert "[MODEL_LOAD_FAILED]" in refused.stderr


@pytest.mark.parametrize("how", ["flag", "environment", "user file"])
def test_offline_refuses_to_download_whoever_set_it(place: Place, how: str) -> None:
    words: tuple[str, ...] = ("models", "download", "minilm-hub")
    more: dict[str, str] = {}
    if how == "flag":
        words = (*words, "--offline")
    elif how == "environment":
        more = {"SIDECAR_OFFLINE": "1"}
    else:
        place.home.mkdir()
        (place.home / "config.json").write_text('{"offline": true}', "utf-8")
    refused = place.run(*words, **more)
    assert refused.returncode == 7
    assert f"The setting offline (set by: {how}) forbids every network call" in refused.stderr
    assert place.hub.requests() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "minilm-hup"), "did you mean minilm-hub"),
        (("download", "minilm-hup"), "did you mean minilm-hub"),
        (("download",), "needs the id of a model"),
    ],
)
def test_a_wrong_id_is_answered_with_near_ones(place: Place, words: tuple[str, ...], said: str) -> None:
    refused = place.run("models", *words)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_what_ships_need_not_be_downloaded(place: Place) -> None:
    done = place.run("models", "download", "static-code-256")
    assert done.returncode == 0
    assert "ships with sidecar" in done.stdout
    assert place.hub.requests() == []


OURS = ("models", "download", "minilm-ours")
DEFAULT = DEFAULTS["modelsSource"]


def test_our_own_model_comes_from_the_release_that_the_package_names_unless_a_server_is_set(place: Place) -> None:
    note = place.site / "sidecar/_models/released-at"
    note.write_text(f"{place.hub.source}/acme/minilm/resolve/{hubs.COMMIT}\n", "ascii")
    try:
        assert place.run(*OURS, "--offline", SIDECAR_MODELS_SOURCE=DEFAULT).returncode == 7
        assert place.hub.requests() == []
        assert place.run(*OURS, SIDECAR_MODELS_SOURCE=DEFAULT).returncode == 0
        asked = [request["path"] for request in place.hub.requests()]
        assert f"/acme/minilm/resolve/{hubs.COMMIT}/onnx/weights.bin" in asked
        assert not [path for path in asked if path.startswith("/api")]
    finally:
        note.unlink()


def test_a_build_that_knows_no_address_says_where_to_copy_the_files_of_our_own_model_to(place: Place) -> None:
    refused = place.run(*OURS, SIDECAR_MODELS_SOURCE=DEFAULT)
    assert refused.returncode == 7
    target = place.home / "models" / "minilm-ours"
    assert '"models/minilm-ours" has model.onnx, weights.bin, tokenizer.json: copy them into' in refused.stderr
    assert f'into "{target}"' in refused.stderr
    target.mkdir(parents=True)
    for name in ("weights.bin", "tokenizer.json"):
        (target / name).symlink_to(MINILM / name)
    (target / "model.onnx").symlink_to(MINILM / "int8.onnx")
    assert "is already there, and its files are intact" in place.run(*OURS, SIDECAR_MODELS_SOURCE=DEFAULT).stdout


def test_who_used_our_own_model_when_it_shipped_keeps_the_index_and_reads_one_sentence(place: Place) -> None:
    (place.work / "average.py").write_text("def average(numbers):\n    return sum(numbers) / len(numbers)\n", "utf-8")
    mine = {"SIDECAR_MODEL": "minilm-ours", "SIDECAR_TWO_STAGE": "false"}
    assert place.run(*OURS).returncode == 0
    assert place.run("index", "--yes", **mine).returncode == 0
    shipped = (place.home / "models" / "minilm-ours").rename(place.home / "aside")
    found = place.run("search", "average", "--json", **mine)
    answer = json.loads(found.stdout)
    assert answer["results"][0]["path"] == "average.py"
    assert answer["notice"].count("it no longer ships with sidecar. Download it with: sidecar models download") == 1
    shipped.rename(place.home / "models" / "minilm-ours")
    again = json.loads(place.run("index", "--yes", "--json", **mine).stdout)
    assert again["embedded"] == 0
    assert "notice" not in json.loads(place.run("search", "average", "--json", **mine).stdout)


def test_two_downloads_at_once_do_not_mix(place: Place) -> None:
    place.hub.faults(**{"onnx/model.onnx": "stall"})
    line = command("models", "download", "minilm-hub")
    with subprocess.Popen(line, cwd=place.work, env=place.env(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline()
        second = place.run("models", "download", "minilm-hub")
        process.kill()
    assert second.returncode == 7
    assert f"Process {process.pid} is downloading a model" in second.stderr
