"""A disk with a bad block (EIO) and a server that has forgotten a file (ESTALE): what is known is kept, reported, and
tried again.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.faulty_disk import Answer
from tests.engine.projects import FILES
from tests.patience import PATIENCE_S

HERE = Path(__file__).resolve()
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has LD_PRELOAD and these calls"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to make calls of the C library fail with"),
]


class Disk:
    """A workspace below `folder`, indexed in a process whose calls can fail."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self._faults = folder / "faults"
        library = folder / "faulty_disk.so"
        source = HERE.with_name("faulty_disk.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.faulty_disk", str(folder)],
            cwd=HERE.parents[2],
            env={**os.environ, "LD_PRELOAD": str(library), "FAULTS": str(self._faults)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, what: str) -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        answer: Answer = json.loads(self.process.stdout.readline())
        return answer

    def fail(self, call: str, error: int, path: str) -> None:
        self._faults.write_text(f"{call} {error} {self.root / path}\n")

    def heal(self) -> None:
        self._faults.unlink()

    def end(self) -> None:
        try:
            self.process.communicate(timeout=PATIENCE_S)
        finally:
            self.process.kill()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    made = Disk(tmp_path_factory.mktemp("disk"))
    try:
        first = made.ask("index")
        assert set(first["paths"]) >= set(FILES)
        assert first["errors"] == []
        yield made
    finally:
        made.end()


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE], ids=["EIO", "ESTALE"])
@pytest.mark.parametrize(("call", "path"), [("list", "src"), ("open", "src/.gitignore"), ("read", "src/.gitignore")])
def test_a_folder_that_fails_keeps_what_is_known_is_named_and_is_tried_again(
    disk: Disk, call: str, path: str, error: int
) -> None:
    new = f"new_{call}_{error}_{len(path)}.py"
    (disk.root / new).write_text("x = 1\n")
    before = set(disk.ask("index")["paths"]) - {new}
    (disk.root / path).touch()  # otherwise nobody reads it
    disk.fail(call, error, path)
    failed = disk.ask("index")
    reason = os.strerror(error)
    assert set(failed["paths"]) == before | {new}
    assert failed["found"][0] == "src/retry.py"
    assert failed["status"] == "ready"
    assert "src/ could not be read" in failed["warning"]
    assert reason in failed["warning"]
    assert "src/ could not be read" in failed["notice"]
    assert [line for line in failed["errors"] if line.startswith("src/: ") and reason in line]
    disk.heal()
    healed = disk.ask("settled")
    assert (healed["warning"], healed["notice"], healed["errors"]) == ("", "", [])
    assert set(healed["paths"]) == before | {new}


@pytest.mark.parametrize(
    ("call", "error", "new"),
    [
        ("open", errno.EIO, "giraffe"),
        ("open", errno.ESTALE, "mongoose"),
        ("read", errno.EIO, "penguin"),
        ("read", errno.ESTALE, "walrus"),
    ],
)
def test_a_file_that_fails_keeps_its_former_version_is_named_and_is_tried_again(
    disk: Disk, call: str, error: int, new: str
) -> None:
    (disk.root / "src/retry.py").write_text(f"def retry_with_backoff():\n    return {new}()\n")
    disk.fail(call, error, "src/retry.py")
    (disk.root / f"{call}_{error}.py").write_text("x = 1\n")
    failed = disk.ask("index")
    assert "src/retry.py" in failed["paths"]
    assert f"{call}_{error}.py" in failed["paths"]
    assert failed["found"][0] == "src/retry.py"
    assert failed["status"] == "ready"
    assert [line for line in failed["errors"] if line.startswith("src/retry.py: ") and os.strerror(error) in line]
    assert disk.ask(new)["found"] == []
    disk.heal()
    assert disk.ask("settled")["errors"] == []
    assert disk.ask(new)["found"] == ["src/retry.py"]


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.EHOSTDOWN, errno.EINTR])
def test_a_workspace_that_could_not_be_listed_is_called_up_to_date_only_when_what_is_new_in_it_is_indexed(
    disk: Disk, error: int
) -> None:
    known = set(disk.ask("index")["paths"])
    new = f"found_{error}.py"
    (disk.root / new).write_text("x = 1\n")
    disk.fail("list", error, "")
    failed = disk.ask("index")
    assert set(failed["paths"]) == known
    assert "The workspace could not be read" in failed["notice"]
    disk.heal()
    healed = disk.ask("settled")
    assert set(healed["paths"]) == known | {new}
    assert (healed["warning"], healed["notice"], healed["errors"]) == ("", "", [])
