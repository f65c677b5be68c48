"""Files in old encodings, saved and unsaved: they are found by their own words, and `explain` says what they are."""

from __future__ import annotations

import pytest

from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled
from tests.engine.projects import Project, find, index

pytestmark = pytest.mark.process

TEXT = "# 設定ファイルを読み込む\ndef load_settings(path):\n    # キャッシュを削除します。\n    return path\n"
DOUBTFUL = "[main]\ntitle=Άδειασμα της κρυφής μνήμης.\n".encode("iso8859_7")


@pytest.mark.parametrize("encoding", ["cp932", "euc_jis_2004", "utf-16-le", "utf-16-be"])
def test_a_file_in_an_old_encoding_is_found_by_its_own_words_and_shown_as_written(
    project: Project, encoding: str
) -> None:
    (project.root / "src/settings.py").write_bytes(TEXT.encode(encoding))
    workspace = project.open()
    index(workspace)
    request = SearchRequest("load_settings キャッシュ", mode="fts")
    (hit, *_) = workspace.search(request, never_cancelled).hits
    assert (hit.path, hit.start_line) == ("src/settings.py", 1)
    assert hit.content.splitlines()[2] == "    # キャッシュを削除します。"
    answer = workspace.explain("src/settings.py")
    assert (answer.decision.indexed, answer.encoding, answer.stale) == (True, encoding, False)
    workspace.set_buffer("src/settings.py", TEXT.replace("キャッシュ", "フォルダー"))
    assert find(workspace, "フォルダー", mode="fts")[:1] == ["src/settings.py"]
    assert find(workspace, "キャッシュ", mode="fts") == []


def test_a_file_whose_encoding_cannot_be_told_is_said_to_be_left_out(project: Project) -> None:
    (project.root / "src/main.ini").write_bytes(DOUBTFUL)
    workspace = project.open()
    index(workspace)
    assert workspace.status().skipped == {"unknown-encoding": 1}
    answer = workspace.explain("src/main.ini")
    assert (answer.decision.rule.value, answer.encoding, answer.in_index) == ("unknown-encoding", "", False)
    assert answer.decision.detail.startswith("it is not UTF-8 and could be ")
    (project.root / "src/main.ini").write_bytes(b"; coding: iso8859-7\n" + DOUBTFUL)
    index(workspace)
    assert workspace.explain("src/main.ini").encoding == "iso8859-7"
    assert workspace.status().skipped == {}
