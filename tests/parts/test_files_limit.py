"""What the limit on the number of files keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.model.files import FoundFile, Rule, Stat
from sidecar.parts.files_limit import FilesLimit

HOUR_NS = 3600 * 10**9
_PATHS = st.lists(
    st.builds(
        lambda folders, name: "/".join([*folders, name]),
        st.lists(st.sampled_from("a src docs test locales de".split()), max_size=3),
        st.sampled_from("main.c README.md data.json de.po ci.yml test_x.py".split()),
    ),
    unique=True,
    max_size=20,
)


def found(path: str, changed_at: int = 0) -> FoundFile:
    return FoundFile(path, Stat(100, changed_at, 0, 0), "docs" if path.endswith(".md") else "code")


@given(_PATHS, st.integers(1, 20))
def test_nothing_is_lost_and_later_judgements_agree_with_the_whole_walk(paths: list[str], most: int) -> None:
    files = [found(path) for path in sorted(paths)]
    limit = FilesLimit(most)
    kept, skipped, first = limit.share(files)
    assert sorted([*(file.path for file in kept), *(skip.path for skip in skipped)]) == sorted(paths)
    assert len(kept) == min(most, len(files))
    assert (first is None) == (not skipped)
    assert all(skip.decision.rule is Rule.TOO_MANY for skip in skipped)
    later = FilesLimit(most)
    later.leave_out_from(first)
    for judge in (limit, later):
        assert [file for file in files if not judge.leaves_out(file)] == kept


def test_what_changed_lately_is_kept_before_what_is_near_the_root_and_stays_when_it_is_judged_again() -> None:
    files = [
        found("a.c"),
        found("b.c"),
        found("c/d/e/edited.c", 2 * HOUR_NS),
        found("f.c"),
        found("readme.rst", 2 * HOUR_NS),
    ]
    limit = FilesLimit(2)
    kept, _, first = limit.share(sorted(files, key=lambda file: file.path))
    assert [file.path for file in kept] == ["a.c", "c/d/e/edited.c"]
    assert first is not None and first.path == "b.c"
    assert not limit.leaves_out(found("c/d/e/edited.c", 3 * HOUR_NS))
    later = FilesLimit(2)
    later.leave_out_from(first, {"c/d/e/edited.c"}.__contains__)
    assert not later.leaves_out(found("c/d/e/edited.c", 3 * HOUR_NS))
    assert later.leaves_out(found("c/d/e/another.c", 3 * HOUR_NS))
