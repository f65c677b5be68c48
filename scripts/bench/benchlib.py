"""What the bench scripts and soak share: trees of real code, facts about the machine, processes and their memory,
tables.

What is measured, and the bounds, are in the scripts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import queue
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sidecar.model.terms import Progress
    from sidecar.tools.index_results import UpdateResult
    from sidecar.tools.service import Service

_CODE = frozenset(
    (
        ".py .pyi .pyx .c .h .cc .cpp .hpp .js .ts .tsx .go .rs .java .rb .php .lua .kt .swift .scala .md .rst .toml"
    ).split()
)
_LARGEST_FILE = 400_000
_SPARE = 1.1
"""More is copied than asked for, because generated and minified files are not indexed."""
_SHARE = 4
"""One package provides at most 1/4 of a tree, so that no single style of code dominates."""
PAGE = 4096


# ---------------------------------------------------------------- the machine


def machine() -> dict[str, Any]:
    """Returns the facts about the machine that a reader needs to compare numbers. `busy`: the load average is above 0.3
    per core."""
    cpu = platform.processor() or "unknown"
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model n")]
        cpu = names[0] if names else cpu
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "cpu": cpu,
        "cores": cores,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "load": [round(x, 2) for x in os.getloadavg()],
        "busy": os.getloadavg()[0] > 0.3 * cores,
        "at": time.strftime("%Y-%m-%d %H:%M"),
    }


def print_machine(facts: dict[str, Any]) -> None:
    """Prints the facts, with a warning when the machine is busy."""
    print(f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}, Python {facts['python']}, {facts['at']}")
    print(f"load average at start: {facts['load']}")
    if facts["busy"]:
        print("WARNING: the machine is busy; times are upper bounds and ratios are noisy.", file=sys.stderr)


# ---------------------------------------------------------------- trees


def sources() -> list[Path]:
    """Folders of real code in every Python installation: its packages, then its standard library."""
    return [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))]


def assemble_tree(into: Path, *, chunks: int = 0, files: int = 0, given: Path | None = None) -> Path:
    """Copies real files into a new folder until it has `chunks` chunks (as the product cuts them) or `files` files.

    They come from `given`, or from `sources()`. Prints a note when there are not enough.
    """
    from sidecar.parts.chunk import parse_file
    from sidecar.parts.languages import language_of

    got_chunks = got_files = 0
    for number, package in enumerate(_packages([given] if given else sources())):
        quota = 0
        for source in _files(package):
            try:
                text = source.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if chunks:
                found = len(parse_file(source.name, text, language_of(source.name, text[:200])).chunks)
                if quota + found > chunks // _SHARE and not given:
                    break
                quota, got_chunks = quota + found, got_chunks + found
            got_files += 1
            target = into / f"{package.name}" / source.relative_to(package) if package.is_dir() else into / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            if (chunks and got_chunks >= chunks * _SPARE) or (files and got_files >= files):
                return into
        if number > 5000:
            break
    print(f"note: only {got_chunks or got_files} of {chunks or files} found; give --tree a larger one", file=sys.stderr)
    return into


def _packages(roots: Sequence[Path]) -> Iterator[Path]:
    for root in roots:
        for entry in sorted(root.iterdir()):
            if entry.is_dir() and not entry.is_symlink() and not entry.name.endswith(("-info", "-packages")):
                yield entry


def _files(package: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(package):
        folders[:] = sorted(f for f in folders if f not in ("__pycache__", "node_modules", ".git", "site-packages"))
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in _CODE and not path.is_symlink() and 200 < path.stat().st_size < _LARGEST_FILE:
                yield path


@contextmanager
def scratch(kept: Path | None) -> Iterator[Path]:
    """A folder for trees and indexes: `kept`, or a temporary one that is removed afterwards."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="sidecar-bench-") as folder:
        yield Path(folder)


# ---------------------------------------------------------------- processes


def fresh_process(part: str, python: str = sys.executable, **facts: object) -> dict[str, Any]:
    """Runs one part of the calling script in a new process, so that parts share no memory and no caches. Returns the
    JSON of its last line. It gets what the daemon gets of the C library's allocator."""
    from sidecar.daemon.spawn import ALLOCATOR

    command = [python, sys.argv[0], "--part", part, "--facts", json.dumps(facts, default=str)]
    done = subprocess.run(command, env={**os.environ, **ALLOCATOR}, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise SystemExit(f"{part} failed with exit status {done.returncode}")
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def run_part(parts: Mapping[str, Callable[..., Any]], given: argparse.Namespace) -> int:
    """Runs the part that `fresh_process` asked for, and prints its result as JSON; threads take turns as often as in
    the daemon. Returns the exit status."""
    from sidecar.__main__ import SWITCH_SECONDS

    sys.setswitchinterval(SWITCH_SECONDS)
    print(json.dumps(parts[given.part](**json.loads(given.facts))))
    return 0


def options(description: str) -> argparse.ArgumentParser:
    """An argument parser with the options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="folder to take the code from (default: installed Python packages)")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    parser.add_argument("--quick", action="store_true", help="small trees, for a first look; bounds are not judged")
    parser.add_argument("--only", default="", help="comma-separated parts to run (default: all)")
    parser.add_argument("--work", type=Path, help="folder for trees and indexes, kept afterwards")
    parser.add_argument("--semble", help="Python of an environment with semble, to compare with")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--facts", help=argparse.SUPPRESS)
    return parser


SECOND = "second process"
"""The role of a process that a part of a benchmark has started for another part."""


class Memory:
    """Samples the resident memory of a process and its descendants, by role, in MB. "together" is the peak of all but
    the second process. Linux only; empty elsewhere."""

    def __init__(self, pid: int, every: float = 0.05) -> None:
        self._pid, self._every = pid, every
        self.peak: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def now(self) -> dict[str, int]:
        """MB by role at this moment."""
        sizes: dict[str, int] = {}
        for pid in [self._pid, *descendants(self._pid)]:
            role = "process" if pid == self._pid else _role(pid)
            try:
                resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE // 1_000_000
            except (OSError, IndexError):
                continue
            sizes[role] = sizes.get(role, 0) + resident
        return sizes

    def _sample(self) -> None:
        while not self._stop.wait(self._every):
            sizes = self.now()
            together = sum(size for role, size in sizes.items() if role != SECOND)
            for role, size in [*sizes.items(), ("together", together)]:
                self.peak[role] = max(self.peak.get(role, 0), size)


def descendants(pid: int) -> list[int]:
    """Ids of all child processes, their children and so on. Linux only; empty elsewhere."""
    direct: list[int] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):  # the thread has ended
            direct += map(int, children.read_text().split())
    return direct + [deeper for child in direct for deeper in descendants(child)]


def _role(pid: int) -> str:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return "other"
    return "chroma worker" if "chroma_worker" in line else SECOND if "--part\0" in line else "other"


class LspClient:
    """`sidecar --stdio` as an editor starts it, with as much of the protocol as the benchmarks need."""

    def __init__(self, workspace: Path, home: Path) -> None:
        env = {**os.environ, "SIDECAR_HOME": str(home), "CI": "1"}  # in its own process
        command = [sys.executable, "-m", "sidecar", "--stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self._answers: dict[int, queue.Queue[tuple[float, dict[str, Any]]]] = {}
        self._last = 0
        threading.Thread(target=self._read, daemon=True).start()
        folder = {"uri": workspace.as_uri(), "name": workspace.name}
        self.request("initialize", {"processId": os.getpid(), "rootUri": folder["uri"], "capabilities": {},
                                    "workspaceFolders": [folder]}, 60)  # fmt: skip
        self._send({"method": "initialized", "params": {}})

    def ask(self, method: str, params: object) -> int:
        """Sends a request and returns its id at once."""
        self._last += 1
        self._answers[self._last] = queue.Queue()
        self._send({"id": self._last, "method": method, "params": params})
        return self._last

    def answer(self, number: int, timeout: float) -> tuple[float, dict[str, Any]]:
        """When the answer arrived (perf_counter), and the answer."""
        came = self._answers[number].get(timeout=timeout)
        del self._answers[number]
        return came

    def answered(self, number: int) -> bool:
        return not self._answers[number].empty()

    def request(self, method: str, params: object, timeout: float) -> tuple[float, dict[str, Any]]:
        """Seconds until the answer, and the answer."""
        start = time.perf_counter()
        came, message = self.answer(self.ask(method, params), timeout)
        return came - start, message

    def close(self) -> None:
        self.request("shutdown", None, 60)
        self._send({"method": "exit"})
        self.process.wait(60)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            if not line.lower().startswith(b"content-length:"):
                continue
            length = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            came = time.perf_counter()
            message = json.loads(stream.read(length))
            if "method" in message:
                if "id" in message:
                    self._send({"id": message["id"], "result": None})
            elif message.get("id") in self._answers:
                self._answers[message["id"]].put((came, message))


# ---------------------------------------------------------------- the product, in this process


def open_service(home: Path) -> Service:
    """Returns the service in this process over the data folder `home`. Its tools ask no questions."""
    from sidecar.tools.assemble import make_service

    return make_service(env={**os.environ, "SIDECAR_HOME": str(home)}, flags={"confirm": "never"})


def refresh(service: Service, root: str, progress: Progress | None = None) -> UpdateResult:
    """Indexes `root` or updates its index, and returns what was done."""
    from sidecar.model.terms import no_progress
    from sidecar.tools.index_results import UpdateResult
    from sidecar.tools.refresh import REFRESH
    from sidecar.tools.service import Done

    done = service.call(REFRESH, {}, workspace=root, progress=progress or no_progress)
    assert isinstance(done, Done)
    assert isinstance(done.result, UpdateResult)
    return done.result


def model_folder_for_others(folder: Path) -> Path:
    """Writes sidecar's static table in the form that model2vec reads. Rows are normalised, since that form has no
    weight per count; good enough to compare speed."""
    import numpy as np

    from sidecar.parts.embed.catalog import resolve_model
    from sidecar.parts.embed.onnx import CPU, ModelGraph

    files = resolve_model("static-code-256")
    vocabulary = json.loads((files.folder / "tokenizer.json").read_text())["model"]["vocab"]
    graph = ModelGraph(files, CPU)
    one = np.ones(1, np.int64)
    rows = np.concatenate(
        [
            graph.run([(np.array([i], np.int64), one) for i in range(start, min(start + 1024, len(vocabulary)))])
            for start in range(0, len(vocabulary), 1024)
        ]
    ).astype("<f4")
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"embeddings": {"dtype": "F32", "shape": list(rows.shape), "data_offsets": [0, rows.nbytes]}}
    header = json.dumps(tensors).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + rows.tobytes())
    (folder / "config.json").write_text('{"normalize": true, "model_type": "model2vec"}')
    shutil.copy(files.folder / "tokenizer.json", folder / "tokenizer.json")
    return folder


# ---------------------------------------------------------------- numbers


def at_rank(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank); 0 for no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def spread(values: Sequence[float], digits: int = 1) -> dict[str, float]:
    """p50, p95, p99 and maximum of the values, and their number `n`."""
    return {
        "p50": round(at_rank(values, 0.5), digits),
        "p95": round(at_rank(values, 0.95), digits),
        "p99": round(at_rank(values, 0.99), digits),
        "max": round(max(values, default=0.0), digits),
        "n": len(values),
    }


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a Markdown table."""
    cells = [[str(c) for c in columns], *([_shown(c) for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    print(f"\n### {title}\n")
    for number, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    sys.stdout.flush()


def _shown(value: object) -> str:
    return (
        f"{value:.3g}"
        if isinstance(value, float) and abs(value) < 100
        else f"{value:.0f}"
        if isinstance(value, float)
        else str(value)
    )


def print_bounds(bounds: Sequence[tuple[str, float, float, str]], judged: bool) -> int:
    """Prints (what, measured, bound, unit) rows. Returns how many bounds are missed, or 0 unless `judged`."""
    missed = sum(measured > bound for _, measured, bound, _ in bounds)
    rows = [(w, f"{m:.3g} {u}", f"<= {b:g} {u}", "met" if m <= b else "MISSED") for w, m, b, u in bounds]
    print_table("Bounds" if judged else "Bounds (quick run: not judged)", ("bound", "measured", "allowed", ""), rows)
    return missed if judged else 0
