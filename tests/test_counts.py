"""Counts are put into words in one place, so that one file is never called `1 files`; no other text does so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.engine.update.staleness import coverage_notice, limit_notice
from sidecar.model.answers import CollectionCounts, Coverage, StatusAnswer
from sidecar.parts.pattern_limit import PathPattern, PatternLimit
from sidecar.shown import count, so_far
from sidecar.tools.every_index import IndexList
from sidecar.tools.index_results import (
    BuildStats,
    DocsStats,
    PathExplanation,
    ReindexFileResult,
    ReindexResult,
    UpdateResult,
)
from sidecar.tools.lines import Line
from sidecar.tools.semantic import PatternIndexResult
from sidecar.tools.status_result import index_status
from tests.sources import ROOT, modules, nodes_of

COUNTED = (
    "files|folders|chunks|results|workspaces|values|secrets|sessions|problems|documents|memories|matches|tools|editors"
    "|agents|vectors|changes|symbols|hits|models|places|paths|windows"
)
_PLURAL = re.compile(rf" (?:[a-z]+ )?(?:{COUNTED})\b")
_TYPESCRIPT = re.compile(rf"\$\{{[^}}]*\}} (?:[a-z]+ )?(?:{COUNTED})\b")

NO_COUNTS = re.compile(r"(is|are|names|does not|of the|takes|holds|leaves|has|says|cannot be) ")
"""After these words a plural does not belong to a count: `X is not a folder`."""


def by_hand(path: Path) -> Iterator[str]:
    """The formatted texts of a module in which a number stands before a plural."""
    for node in nodes_of(path):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, after in zip(node.values, node.values[1:], strict=False):
            if not isinstance(before, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            value = ast.unparse(before.value)
            plural = _PLURAL.match(str(after.value))
            if (
                plural
                and not value.isupper()
                and not value.endswith((".id", ".name"))
                and not NO_COUNTS.match(str(after.value).lstrip())
            ):
                yield f"{path.name}:{node.lineno}: {{{value}}}{plural[0]}"


PLURAL_VERB = re.compile(r" (are|were|have|do|need|wait|hold)\b")
BEFORE_A_COUNT = re.compile(r"\b(are|were) (only )?$")


def text_of(piece: ast.expr) -> str:
    return str(piece.value) if isinstance(piece, ast.Constant) else "{}"


def always_plural(path: Path) -> Iterator[str]:
    """The formatted texts of a module whose verb is a plural, although their subject is any count."""
    for node in nodes_of(path):
        if not isinstance(node, ast.JoinedStr):
            continue
        for at, piece in enumerate(node.values):
            if isinstance(piece, ast.FormattedValue) and re.match(r"(shown\.)?count\(", ast.unparse(piece.value)):
                before, after = ("".join(map(text_of, part)) for part in (node.values[:at], node.values[at + 1 :]))
                if BEFORE_A_COUNT.search(before) or PLURAL_VERB.match(after):
                    yield f"{path.name}:{node.lineno}: {ast.unparse(node)}"


def test_a_verb_fits_one_of_what_is_counted_too() -> None:
    found = [text for path in modules() for text in always_plural(path)]
    # These two have a sentence of their own for one.
    assert [text.partition(":")[0] for text in found] == ["nothing.py", "searcher.py"]


def test_the_rule_sees_a_verb_that_is_always_a_plural(tmp_path: Path) -> None:
    texts = ("{count(n, 'file')} were read", "There are only {count(n, 'file')}.", "{count(n, 'file')} {verb} read")
    (tmp_path / "a.py").write_text("".join(f'f"{text}"\n' for text in texts))
    assert len(list(always_plural(tmp_path / "a.py"))) == 2


def test_no_module_puts_a_count_into_words_itself() -> None:
    found = [text for path in modules() for text in by_hand(path)]
    assert [text for text in found if "semantic.py" not in text or "report.indexed" not in text] == []


def test_the_extension_puts_counts_into_words_in_one_place_too() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sorted((ROOT / "extension/src").rglob("*.ts"))
        for text in _TYPESCRIPT.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_rule_sees_a_count_made_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('def told(n):\n    return f"{n} changed files wait", f"{n} is none of the files"\n')
    assert [text.partition(": ")[2] for text in by_hand(tmp_path / "a.py")] == ["{n} changed files"]
    assert _TYPESCRIPT.search("`${n} chunks`")


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries"), (1204, "1,204 entries")]
)
def test_a_count_has_a_singular(number: int, words: str) -> None:
    assert count(number, "entry", "entries") == words


def shown_lines(lines: Iterator[Line]) -> str:
    return "\n".join(
        line if isinstance(line, str) else "".join(piece if isinstance(piece, str) else piece[1] for piece in line)
        for line in lines
    )


def update(**counts: int) -> UpdateResult:
    zero = dict.fromkeys(
        ("files", "chunks", "docs_files", "docs_chunks", "embedded", "upgraded", "unchanged", "removed", "withheld"), 0
    )
    return UpdateResult(project_path="/work", **{**zero, "masked": 0, "errors": 0, "seconds": 1.0, **counts})


def test_one_of_everything_reads_as_one() -> None:
    ones = dict.fromkeys(
        ("files", "chunks", "docs_files", "docs_chunks", "embedded", "upgraded", "unchanged", "removed", "withheld",
         "masked", "errors"), 1,
    )  # fmt: skip
    stats = BuildStats(files_indexed=0, chunks_created=0, duration_ms=0, error_count=0)
    docs = DocsStats(files_indexed=1, chunks_created=1)
    for result in (
        update(**ones),
        ReindexResult(status="reindexed", project_path="/", stats=stats, docs_stats=docs),
        ReindexFileResult(status="reindexed", file_path="a", chunks_created=1),
        PathExplanation(
            path="a",
            indexed=True,
            rule="indexed",
            detail="",
            exists=True,
            in_index=True,
            stale=False,
            chunks=1,
            embedded=1,
        ),
    ):
        text = shown_lines(iter(result.as_lines()))
        assert "1 " in text
        assert not re.search(rf"\b1 (?:\w+ )?(?:{COUNTED})\b", text)


def test_a_thousand_of_anything_is_written_in_one_way() -> None:
    many = dict.fromkeys(
        ("files", "chunks", "docs_files", "docs_chunks", "embedded", "upgraded", "unchanged", "removed", "withheld",
         "masked", "errors"), 1300,
    )  # fmt: skip
    stats = BuildStats(files_indexed=1300, chunks_created=1300, duration_ms=5, error_count=1300)
    explained = {"rule": "indexed", "detail": "", "exists": True, "in_index": True, "stale": False}
    patterns = {"message": "", "execution_time_ms": 5, "errors": [], "workspace": "/"}
    for result in (
        update(**many),
        ReindexResult(status="reindexed", project_path="/", stats=stats),
        ReindexFileResult(status="reindexed", file_path="a", chunks_created=1300),
        PathExplanation(path="a", indexed=True, chunks=1300, embedded=1300, **explained),
        PatternIndexResult(indexed_files=1300, skipped_files=1300, total_chunks=1300, failed_files=1300, **patterns),
        index_status(
            StatusAnswer(
                "indexing",
                "/",
                "/index",
                "/config.json",
                files=1300,
                chunks=1300,
                code=CollectionCounts(1300, 1300),
                docs=CollectionCounts(1300, 1300),
                pending_files=1300,
                languages={"python": 1300},
                skipped={"gitignore": 1300},
                holds=Coverage(1300, (("secrets", 1300),)),
                progress_done=1300,
                progress_total=1300,
                progress_says=so_far("Indexing", 1300, 1300),
            )
        ),
    ):
        text = shown_lines(iter(result.as_lines()))
        assert "1,300" in text
        assert not re.search(r"\b(1300|2600)\b", text), text


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"files": 3, "chunks": 9, "unchanged": 3}, "0 chunks embedded (the index was up to date), 3 files unchanged"),
        ({"files": 3, "chunks": 9, "unchanged": 1}, "0 chunks embedded (every text had its vector already), 1 file"),
        (
            {"files": 2, "chunks": 6, "unchanged": 2, "removed": 1},
            "0 chunks embedded (every text had its vector already)",
        ),
        ({"files": 3, "chunks": 9, "embedded": 1}, "1 chunk embedded, 0 files unchanged"),
        ({}, "0 chunks embedded, 0 files unchanged"),
    ],
)
def test_nothing_embedded_says_why(counts: dict[str, int], said: str) -> None:
    assert said in shown_lines(update(**counts).as_lines())


@pytest.mark.parametrize(("indexed", "lacking", "verb"), [(0, 1, "0 of 1 file is"), (1, 1, "1 of 2 files are")])
def test_how_much_is_indexed_has_a_verb_that_fits(indexed: int, lacking: int, verb: str) -> None:
    said = coverage_notice(Coverage(indexed, (("unreadable", lacking),), whole=True, complete=True, cancelled=False))
    assert said.startswith(f"{verb} indexed: ")


def test_folders_that_could_not_be_read_are_counted_beside_the_files() -> None:
    one = Coverage(1, (("unreadable", 1),), unread_folders=1)
    assert coverage_notice(one).endswith(
        ": 1 could not be read. 1 folder could not be read, so its files are not counted."
    )
    assert coverage_notice(Coverage(1, (("secrets", 1),), unread_folders=2)).endswith("so their files are not counted.")
    assert coverage_notice(Coverage(1, unread_folders=1)) == ""


@pytest.mark.parametrize(("globs", "verb"), [(("a/*",), "Only a/* is "), (("a/*", "b/*"), "Only a/*, b/* are ")])
def test_patterns_have_a_verb_that_fits(globs: tuple[str, ...], verb: str) -> None:
    assert limit_notice(PatternLimit(tuple(PathPattern(glob, True) for glob in globs))).startswith(verb)


def test_no_bytes_at_all_are_a_known_number_of_them() -> None:
    assert list(IndexList(()).as_lines()) == ["0 indexes, 0 MB"]
