"""Checks whether sidecar works on this machine. Each check runs the real part, and says what to do if it fails.

The parts are those of `wiring.py`. Of the workspace's index, only the model and the progress of an upgrade are read.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np

from sidecar import __version__
from sidecar.engine.index.generation import model_of, read_meta
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.index.snapshot import Snapshots
from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.models.loader import Models, make_embedder
from sidecar.engine.update.backfill import count_backfilled
from sidecar.engine.wiring import EmbeddingCacheOpener, make_store
from sidecar.errors import DiskFull, SidecarError, disk_error
from sidecar.settings.load import Settings, data_home, load_settings, user_config_file
from sidecar.shown import count

LIBRARIES = ("chromadb", "mcp", "numpy", "onnxruntime", "pydantic", "pygls", "tokenizers", "watchfiles")
MIN_PYTHON = (3, 11)
MIN_SQLITE = (3, 35, 0)
MIN_WATCHES = 65_536
MIN_FREE_BYTES = 500_000_000
WATCH_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")


_THREE_TEXTS = ["open a file", "read text from a file", "matrix determinant"]
_FOR_A_CARD = 11
"""How often the three texts are repeated: 33 texts, because the embedder uses a GPU only for a batch of at least 32."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. `found` is what the machine has, `advice` what to do about it; `advice` is empty if
    `ok`."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def check_everything(flags: Mapping[str, object], env: Mapping[str, str], root: str) -> Iterator[Check]:
    """Runs every check in turn. An exception in one of them makes it fail and does not end the others.

    `root` is the workspace whose settings and index are checked.
    """
    checks: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("python", check_python),
        ("libraries", check_libraries),
        ("sqlite", check_sqlite),
        ("settings", lambda: check_settings(_settings(flags, env, root))),
        ("data folder", lambda: check_data_folder(data_home(env))),
        ("model", lambda: check_model(_settings(flags, env, root), data_home(env))),
        ("index", lambda: check_index(_settings(flags, env, root), data_home(env), root)),
        ("vector store", check_vector_store),
        ("file watching", lambda: check_watches(WATCH_LIMIT)),
    )
    for name, check in checks:
        yield _survived(name, check)


def check_python() -> Check:
    """Checks the version of Python."""
    found = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    return Check("python", sys.version_info >= MIN_PYTHON, found, _unless(sys.version_info >= MIN_PYTHON, _NEW_PYTHON))


def check_libraries() -> Check:
    """Checks that the libraries are installed.

    Looks for the names that are imported, because several distributions may provide them: onnxruntime-gpu also provides
    onnxruntime. Packages of some systems do not list their files, so what brought a library may be unknown.
    """
    versions, missing = [f"sidecar {__version__}"], []
    brought_by = importlib.metadata.packages_distributions()
    for name in LIBRARIES:
        found = sorted(set(brought_by.get(name, ())))
        versions += [f"{distribution} {importlib.metadata.version(distribution)}" for distribution in found]
        if not found and PathFinder.find_spec(name) is not None:
            versions.append(f"{name} (version unknown)")
        elif not found:
            missing.append(name)
    advice = f"Missing: {', '.join(missing)}. Install sidecar again into this environment."
    return Check("libraries", not missing, ", ".join(versions), _unless(not missing, advice))


def check_sqlite(connect: Callable[[], sqlite3.Connection] = lambda: sqlite3.connect(":memory:")) -> Check:
    """Checks the version of SQLite, and that it has the JSON functions, by which rows are read."""
    fine = sqlite3.sqlite_version_info >= MIN_SQLITE and _has_json(connect)
    advice = "Use a Python with SQLite 3.35 or newer that has its JSON functions."
    return Check("sqlite", fine, sqlite3.sqlite_version, _unless(fine, advice))


def _has_json(connect: Callable[[], sqlite3.Connection]) -> bool:
    with contextlib.closing(connect()) as connection:
        try:
            connection.execute("SELECT json_group_array(json_array(1))").fetchone()
        except sqlite3.Error:
            return False
    return True


def check_settings(settings: Settings) -> Check:
    """Lists the settings that differ from the defaults; fails if one of them has a problem."""
    changed = sorted(f"{key} from {origin}" for key, origin in settings.origins.items() if origin != "default")
    found = ", ".join(changed) or "all defaults"
    return Check("settings", not settings.problems, found, " ".join(settings.problems))


def check_data_folder(home: Path) -> Check:
    """Writes and syncs a temporary file in the data folder, and checks the free space there."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=home) as probe:
            probe.write(b"x")
            probe.flush()
            os.fsync(probe.fileno())
        free = shutil.disk_usage(home).free
    except OSError as error:
        return Check("data folder", False, f"{home}: {error.strerror}", _advice_on(error, home))
    fine = free >= MIN_FREE_BYTES
    return Check(
        "data folder", fine, f"{home}, {free / 1e9:.1f} GB free", _unless(fine, "Free some space on its disk.")
    )


def _advice_on(error: OSError, home: Path) -> str:
    if isinstance(disk_error(error, home), DiskFull):
        return "Free some space on its disk."
    return "Make the folder writable, or set SIDECAR_HOME to one that is."


def check_model(settings: Settings, home: Path | None = None) -> Check:
    """Loads the model, tries the GPU if there is one, and compares two related texts with an unrelated one.

    Raises ModelLoadFailed if the files are missing or their hashes are wrong.
    """
    embedder = make_embedder(settings, home)
    try:
        near, same, far = embedder.embed_documents(_THREE_TEXTS * _FOR_A_CARD)[:3]
        on = embedder.device_note or embedder.device
        found = f"{embedder.model_id}, dimension {embedder.dimension}, on {on}"
        fine = float(np.dot(near, same)) > float(np.dot(near, far))
    finally:
        embedder.close()
    return Check("model", fine, found, _unless(fine, "The model returns wrong vectors. Install sidecar again."))


def check_index(settings: Settings, home: Path, root: str) -> Check:
    """Reports which model answers and, if an upgrade to another one is running or due, how far it is. Raises storage
    errors."""
    directory = IndexLayout(home, root)
    number = directory.current()
    if number is None:
        return Check("index", True, "none yet")
    manifest = directory.manifest(number)
    own = model_of(read_meta(manifest))
    models = Models(partial(make_embedder, home=home), home)
    try:
        wanted = ModelChoice(lambda: settings, models.embedder, models.facts).next(own)
        if wanted is None:
            return Check("index", True, f"answers from {_plain(own)}")
        done, total = _backfilled(directory, manifest, wanted)
    finally:
        models.close()
    share = f"{_plain(wanted)}: {done * 100 // max(1, total)} % of {count(total, 'chunk')}"
    return Check("index", True, f"answers from {_plain(own)}; {share}")


def _plain(model: ModelFacts) -> str:
    return model.model_id.partition("@")[0]


def _backfilled(directory: IndexLayout, manifest: Path, model: ModelFacts) -> tuple[int, int]:
    kept = EmbeddingCacheOpener()(directory.vectors, model.model_id, model.dimension)
    snapshots = Snapshots(manifest, lambda: None, model.path_weight, kept.close)
    try:
        return count_backfilled(snapshots, kept)
    finally:
        snapshots.close()


def check_vector_store() -> Check:
    """Writes vectors to Chroma in its worker process and finds them again, in a temporary folder."""
    rows = np.eye(3, dtype=np.float32)
    with tempfile.TemporaryDirectory(prefix="sidecar-doctor-") as folder:
        store = make_store(Settings(), Path(folder), 3, "doctor", folder)
        try:
            store.add("code", np.array([1, 2, 3], dtype=np.int64), rows)
            ids, _ = store.query("code", rows[1], 1)
        finally:
            store.close()
    fine = ids.tolist() == [2]
    found = "wrote and found three vectors" if fine else f"asked for vector 2, got {ids.tolist()}"
    return Check("vector store", fine, found, _unless(fine, "Install chromadb again into this environment."))


def check_watches(limit_file: Path) -> Check:
    """Checks the limit on inotify watches; passes on systems without one."""
    if not limit_file.exists():
        return Check("file watching", True, "no inotify limit on this system")
    limit = int(limit_file.read_text())
    command = f"sysctl fs.inotify.max_user_watches={MIN_WATCHES * 8}"
    advice = f"Large workspaces need more: run {command}, or set strategy to lazy."
    return Check("file watching", limit >= MIN_WATCHES, f"{limit} watches", _unless(limit >= MIN_WATCHES, advice))


_NEW_PYTHON = "Install Python 3.11 or newer, and install sidecar into it."


def _survived(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except SidecarError as error:
        return Check(name, False, error.user_message, error.detail or "See the documentation of this error.")
    except Exception as error:
        return Check(name, False, f"{type(error).__name__}: {error}", "Please report this with the whole output.")


def _settings(flags: Mapping[str, object], env: Mapping[str, str], root: str) -> Settings:
    return load_settings(IndexLayout(data_home(env), root).config, user_config_file(env), env, {}, flags)


def _unless(fine: bool, advice: str) -> str:
    return "" if fine else advice
