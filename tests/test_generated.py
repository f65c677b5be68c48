"""Generated files are committed and must be what their source makes."""

from __future__ import annotations

from pathlib import Path

from sidecar.gen.__main__ import generated, stale

ROOT = Path(__file__).resolve().parents[1]


def test_no_generated_file_is_stale() -> None:
    assert stale(ROOT) == [], "run: python -m sidecar.gen"


def test_a_changed_file_counts_as_stale(tmp_path: Path) -> None:
    for name, content in generated().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert stale(tmp_path) == []
    (tmp_path / "docs/cli.md").write_text("old", encoding="utf-8")
    assert stale(tmp_path) == ["docs/cli.md"]
