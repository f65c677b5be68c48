"""Questions in German and Japanese find code that is written in English, and comments in their own language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.search_index import SmallIndex, small_index

FILES = {
    "src/auth/digest.py": "def hash_password(password, salt):\n    return scrypt(password, salt)\n",
    "src/db/pool.py": "class ConnectionPool:\n    def close_idle(self, timeout):\n        self.idle.clear()\n",
    "src/net/backoff.py": "def retry(request, attempts):\n    while failed(request):\n        wait(attempts)\n",
    "src/ui/theme.py": "def paint(canvas, palette):\n    canvas.fill(palette.accent)\n",
    "src/ui/wo.py": "WO = 'wo wird das der die'\nWIRD = 'wird das wo'\ndef das():\n    return WO\n",
    "src/abrechnung.py": "# Ermittelt die gleitende Spitzenstunde\ndef sliding(values):\n    return max(values)\n",
    "src/jisho.py": "# 単語を辞書から削除する\ndef forget(entry):\n    return entry.drop()\n",
}
QUESTIONS = [
    ("Wo wird das Passwort gehasht?", "src/auth/digest.py"),
    ("Passwort hashen", "src/auth/digest.py"),
    ("Wo werden untätige Verbindungen nach einer Zeitüberschreitung geschlossen?", "src/db/pool.py"),
    ("Verbindungspool", "src/db/pool.py"),
    ("fehlgeschlagene Anfragen wiederholen", "src/net/backoff.py"),
    ("Wie wird die gleitende Spitzenstunde ermittelt?", "src/abrechnung.py"),
    ("パスワードのハッシュ化はどこ", "src/auth/digest.py"),
    ("アイドル状態の接続を閉じている場所", "src/db/pool.py"),
    ("失敗したリクエストを再試行する仕組み", "src/net/backoff.py"),
    ("辞書の単語を削除", "src/jisho.py"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    with small_index(tmp_path_factory.mktemp("foreign"), FILES) as made:
        yield made


@pytest.mark.parametrize(("question", "path"), QUESTIONS)
@pytest.mark.parametrize("mode", ["hybrid", "fts"])
def test_a_question_in_german_or_japanese_finds_the_answer_first(
    index: SmallIndex, question: str, path: str, mode: str
) -> None:
    assert index.search(question, mode=mode).hits[0].path == path


def test_the_answer_names_the_english_words_that_were_searched_for(index: SmallIndex) -> None:
    assert index.search("Wo wird das Passwort gehasht?").notice == "Also searched in English: password, hash."
    assert index.search("パスワードのハッシュ化はどこ").notice == "Also searched in English: password, hash."


@pytest.mark.parametrize(
    "question", ["kind of art", "rest of the tag", "the last laden child", "default position", "über"]
)
def test_words_that_are_english_too_and_unknown_ones_are_searched_as_they_were_typed(
    index: SmallIndex, question: str
) -> None:
    assert index.search(question).notice == ""


def test_identifiers_paths_and_calls_in_a_german_question_stay_as_they_are(index: SmallIndex) -> None:
    question = "Wo wird hash_password(datei) aus src/ordner/datei.py aufgerufen und was ist server.starten?"
    assert index.search(question).notice == "Also searched in English: call, invoke."
