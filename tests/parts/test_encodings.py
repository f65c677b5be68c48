"""Short source files in many encodings are read correctly or left out, and data that is no text is not read as text."""

from __future__ import annotations

import itertools
import struct
from collections import Counter

import pytest

from sidecar.parts.encodings import BINARY, UNKNOWN
from sidecar.parts.read import decode

COMMENTS = {
    "ja": ("設定ファイルを読み込む", "再試行までの待ち時間（秒）", "キャッシュを削除します。"),
    "zh": ("读取配置文件", "检查用户名和密码是否正确", "如果发生错误则抛出异常"),
    "tw": ("讀取設定檔案", "檢查使用者名稱與密碼是否正確", "如果發生錯誤則拋出例外"),
    "ko": ("설정 파일을 읽는다", "사용자 이름과 비밀번호를 확인한다", "캐시를 삭제합니다."),
    "ru": ("Читает файл настроек", "сколько секунд ждать до повтора", "Очистка кэша."),
    "de": ("Größe des Puffers", "löst bei Fehlern eine Ausnahme aus", "Datei nicht gefunden: ungültig"),
    "fr": ("lit le fichier de paramètres déjà créé", "délai avant la nouvelle tentative", "trie les éléments"),
    "es": ("lee la configuración", "comprueba la contraseña del usuario", "cálculo del total del año"),
    "pl": ("wczytuje plik z ustawieniami użytkownika", "zamyka połączenie z bazą", "Czyści pamięć podręczną."),
    "el": ("διαβάζει το αρχείο ρυθμίσεων", "ελέγχει τον κωδικό του χρήστη", "το αρχείο δεν βρέθηκε"),
}
LEGACY = {
    "ja": ("cp932", "euc_jp", "iso2022_jp"),
    "zh": ("gbk", "gb18030"),
    "tw": ("big5",),
    "ko": ("euc_kr", "cp949"),
    "ru": ("koi8_r", "cp1251", "cp866"),
    **dict.fromkeys(("de", "fr", "es"), ("latin-1", "cp1252")),
    "pl": ("cp1250", "iso8859_2"),
    "el": ("cp1253", "iso8859_7"),
}
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
CODE = (
    ("def read_config(path):\n", "    # {}\n", "    value = load(path)\n    return parse(value, strict=True)\n"),
    (
        "#include <stdio.h>\n\n",
        "/* {} */\n",
        'int read(const char *p) {\n    FILE *f = fopen(p, "r");\n    return !f;\n}\n',
    ),
    ("public class Order {\n", "    // {}\n", "    private final int total = items.stream().sum();\n"),
    ("CREATE TABLE orders (id INTEGER);\n", "-- {}\n", "SELECT id, total FROM orders WHERE total > 100;\n"),
    ("[main]\n", "title={}\n", "port=8080\n"),
)


def texts(language: str) -> list[str]:
    """Returns, for each programming language, a source file with each of the comments, and one with all of them."""
    chosen = [*((one,) for one in COMMENTS[language]), COMMENTS[language]]
    return [
        head + "".join(comment.format(said) + tail for said in comments)
        for (head, comment, tail), comments in itertools.product(CODE, chosen)
    ]


@pytest.mark.parametrize("encoding", WIDE)
def test_wide_text_without_a_mark_is_read_whatever_its_language(encoding: str) -> None:
    for text in ("plain = 1\n", *itertools.chain.from_iterable(map(texts, COMMENTS))):
        assert decode(text.encode(encoding))[:2] == (text, encoding)


def test_short_files_in_old_encodings_are_read_rightly_and_a_wrong_guess_is_rarer_than_none() -> None:
    outcomes: Counter[str] = Counter()
    for language, encodings in LEGACY.items():
        for encoding, text in itertools.product(encodings, texts(language)):
            read = decode(text.encode(encoding))
            outcomes["unknown" if read.encoding == UNKNOWN else "right" if read.text == text else "wrong"] += 1
    assert outcomes["wrong"] <= outcomes["unknown"]
    assert outcomes["wrong"] <= 0.01 * outcomes.total()
    assert outcomes["right"] >= 0.95 * outcomes.total()


def test_a_file_whose_encoding_cannot_be_told_says_so_and_what_settles_it() -> None:
    raw = "[main]\ntitle=Άδειασμα της κρυφής μνήμης.\n".encode("iso8859_7")
    read = decode(raw)
    assert (read.text, read.encoding) == ("", UNKNOWN)
    assert read.reason.startswith("it is not UTF-8")
    assert "save it as UTF-8" in read.reason
    named = read.reason.rsplit('"coding: ', 1)[1].split('"')[0]
    assert decode(f"# coding: {named}\n".encode() + raw).encoding == named


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ("# -*- coding: iso8859-7 -*-", "iso8859-7"),
        ("#!/usr/bin/env ruby\n# coding: cp866", "cp866"),
        ("/* vim: set fileencoding=euc-kr : */", "euc_kr"),
        ('<?xml version="1.0" encoding="Shift_JIS"?>', "shift_jis"),
        ('<meta charset="gbk">', "gbk"),
        ('@charset "windows-1257";', "cp1257"),
    ],
)
def test_what_the_first_lines_declare_is_believed(declaration: str, encoding: str) -> None:
    text = f"{declaration}\n" + {"euc_kr": "값", "shift_jis": "値", "gbk": "设置", "cp1257": "ā", "cp866": "ц"}.get(
        encoding, "Ω"
    )
    assert decode(text.encode(encoding))[:2] == (text, encoding)


@pytest.mark.parametrize("declared", ["rot13", "idna", "unicode_escape", "utf-8", "nonsense", "euc-jp"])
def test_a_declaration_that_cannot_be_true_is_not_believed(declared: str) -> None:
    text = f"# coding: {declared}\n# Größe des Puffers: für später\n"
    assert decode(text.encode("cp1252"))[:2] == (text, "cp1252")


def test_the_bytes_that_matter_may_come_after_much_ascii() -> None:
    text = "x = 1; " * 50_000 + "# " + "、".join(COMMENTS["ja"])
    assert decode(text.encode("euc_jp")).text.endswith(COMMENTS["ja"][2])


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack("<400H", *(number % 256 for number in range(400))),
        struct.pack("<200i", *range(-100, 100)),
        struct.pack("<200d", *(number / 7 for number in range(200))),
        b"\x7fELF\x02\x01\x01\0" + b"\0" * 8 + b"\x03\0>\0\x01\0\0\0" * 40,
        b"\xde\x12\x04\x95\0\0\0\0\t\0\0\0\x1c\0\0\0d\0\0\0\r\0\0\0\xac\0\0\0\0\0" * 9,
        b"PK\x03\x04\x14\0\0\0\x08\0" * 30,
    ],
)
def test_tables_of_numbers_are_no_wide_text(raw: bytes) -> None:
    assert decode(raw).encoding == BINARY


@pytest.mark.parametrize(
    ("pasted", "encoding"), [("# Länge der Straße", "cp1252"), (f"# {COMMENTS['zh'][1]}", "gb18030")]
)
def test_a_line_of_another_encoding_spoils_no_line_of_utf_8(pasted: str, encoding: str) -> None:
    ours = "# Größe des Puffers, 設定ファイルを読み込む\ndef read():\n    pass\n"
    read = decode(ours.encode() + pasted.encode(encoding) + b"\n")
    assert read[:2] == (f"{ours}{pasted}\n", f"utf-8 and {encoding}")


@pytest.mark.parametrize("raw", [b"def order():\n    pass\n\0\n", b"a = 1\n\0\0b = 2\n", b"line\0line\0line!" * 9])
def test_zero_bytes_in_ascii_do_not_make_it_wide(raw: bytes) -> None:
    assert decode(raw).encoding == BINARY
