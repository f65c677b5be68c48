"""Which texts are encoded data and which only look long."""

from __future__ import annotations

import base64
import hashlib
import random
import textwrap

import pytest

from sidecar.model.files import Chunk, Comment, ParsedFile
from sidecar.parts.encoded import without_encoded
from sidecar.parts.lexical.analyse import analyse

RANDOM = random.Random(7)
BYTES = RANDOM.randbytes(3000)
BASE64 = base64.b64encode(BYTES).decode()
PROSE = base64.b64encode(b"The quick brown fox jumps over the lazy dog, and then it sleeps. " * 20).decode()
ZEROS = base64.b64encode(bytes(900) + BYTES[:60] + bytes(900)).decode()
GROUPS = ("AAAA", "SAAS", "IACI", "gBAAgB", "EAAM", "KAAKA")
MAPPINGS = ";".join(",".join(RANDOM.choices(GROUPS, k=9)) for _ in range(40))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"key = '{BASE64}'", "key = ' '"),
        (f"key = '{PROSE}'", "key = ' '"),
        (f"key = '{ZEROS}'", "key = ' '"),
        (f'<image href="data:image/png;base64,{BASE64}"/>', '<image href="data:image/png;base64, "/>'),
        (f"url(data:font/woff2;charset=utf-8;base64,{PROSE}) end", "url(data:font/woff2;charset=utf-8;base64, ) end"),
        (f"url(data:image/svg+xml,{'%3Cpath%20d=%22M0' * 9}) end", "url(data:image/svg+xml, ) end"),
        (f"-----BEGIN-----\n{textwrap.fill(BASE64, 64)}\n-----END-----", "-----BEGIN-----\n \n-----END-----"),
        ('image = (\n    "' + '"\n    "'.join(textwrap.wrap(BASE64, 70)) + '"\n)\n', 'image = (\n    " "\n)\n'),
        (f"blob = 0x{BYTES.hex()};", "blob =  ;"),
        (f"blob = '{BYTES.hex()}';", "blob = ' ';"),
        ("{" + ", ".join(f"0x{b:02x}" for b in BYTES[:200]) + "};", "{ };"),
        ("b'" + "".join(f"\\x{b:02x}" for b in BYTES[:200]) + "'", "b' '"),
        (f'{{"version":3,"mappings":"{MAPPINGS}"}}', '{"version":3,"mappings":" "}'),
    ],
)
def test_encoded_data_is_left_out(text: str, kept: str) -> None:
    assert without_encoded(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        hashlib.sha1(BYTES).hexdigest(),
        hashlib.sha256(BYTES).hexdigest(),
        hashlib.sha512(BYTES).hexdigest(),
        f"sha512-{base64.b64encode(hashlib.sha512(BYTES).digest()).decode()}",
        "123e4567-e89b-12d3-a456-426614174000",
        "0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, " * 20,
        "static const int ports[] = {0x1f, 0x50, 0xbb};",
        "testThatTheOrderOfTheRowsIsKeptWhenTheFirstPageIsReadAgainAfterV2AndTheCacheWasNotYetFilledByTheSecondReader1",
        "/srv/checkouts/Kubernetes/staging/src/k8s/io/apiserver/pkg/endpoints/handlers/fieldmanager/structuredmerge/v1beta1",
        "import a/b/d1/e2/F3/LongerFolders/AndSomeMoreOfThem/WithCapitals/InEveryOne/OfThem/AsJavaHas/ThemSometimes",
        "h1,h2,h3,h4,h5,h6,p,pre,a,abbr,address,cite,code,del,dfn,em,img,ins,kbd,q,s,samp,b,i,dl,dt,dd,ol,ul,li{" * 2,
        "GET,PUT,POST,HEAD,TRACE,PATCH,COPY,LOCK,MOVE,LINK," * 8,
        "1,2,3,4,5,6,7,8,9,10," * 30,
        "data:image/png;base64,iVBORw0KGgo=",
        "z" * 5000,
        "=" * 200,
        "",
    ],
)
def test_what_people_write_and_search_for_stays(text: str) -> None:
    assert without_encoded(text) == text
    assert without_encoded(f"before {text} after") == f"before {text} after"


def test_what_follows_encoded_data_stays() -> None:
    lines = "\n".join(textwrap.wrap(BASE64, 76))
    name = "aVeryLongNameOfAVariableThatStandsRightAfterTheBlob"
    assert without_encoded(f'"{lines}"\n{name} = 3\n').endswith(f"\n{name} = 3\n")


def test_the_text_of_a_chunk_is_looked_at_once_for_the_words_and_the_model() -> None:
    text = f"key = '{BASE64[:2000]}'"
    chunk = Chunk(1, 1, text, "code")
    comments = tuple(Comment(1, f"comment {number} on what follows") for number in range(3_000))
    first = without_encoded(text)
    analyse("src/key.py", ParsedFile("python", "lines", (chunk,), comments=comments))
    assert without_encoded(text) is first, "comments do not push it out"


def test_nothing_is_kept_of_a_text_as_long_as_a_file() -> None:
    text = f"key = '{BASE64}'" + "# what it opens\n" * 500
    assert without_encoded(text) is not without_encoded(text)
