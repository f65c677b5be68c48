"""A pasted issue, commit message or log is divided into title, code, tracebacks, errors, names and files."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.engine.search.long_text import is_long, parts_of
from tests.examples import examples

FRAMES = {
    "Python": (
        (
            'Traceback (most recent call last):\n  File "/srv/shop/cart.py", line 12, in add\n    self._put(item)\n'
            '  File "/srv/shop/stock/store.py", line 40, in _put\n    raise SoldOut(item)\nshop.errors.SoldOut: lamp'
        ),
        ["srv/shop/stock/store.py", "srv/shop/cart.py"],
        {"_put", "add"},
    ),
    "JavaScript": (
        (
            "TypeError: x is not a function\n    at Cart.add (/app/src/cart.js:12:9)\n"
            "    at async /app/src/main.js:3:1\n"
            "    at new Store (webpack:///src/store.mjs:7:2)"
        ),
        ["app/src/cart.js", "app/src/main.js", "src/store.mjs"],
        {"add", "Store"},
    ),
    "TypeScript in Firefox": (
        "addItem@http://localhost:8080/src/cart.ts:12:9\n@http://localhost:8080/src/main.ts:3:1",
        ["src/cart.ts", "src/main.ts"],
        {"addItem"},
    ),
    "Java": (
        (
            'Exception in thread "main" java.lang.IllegalStateException: empty\n'
            "\tat org.shop.cart.Cart.add(Cart.java:12)\n\tat org.shop.Main$Inner.main(Main.java:3)"
        ),
        ["org/shop/cart/Cart.java", "org/shop/Main.java"],
        {"add", "main"},
    ),
    "Kotlin": (
        "\tat app//org.shop.CartKt.total(Cart.kt:8)",
        ["org/shop/Cart.kt"],
        {"total"},
    ),
    "Go": (
        (
            "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.(*Cart).Add(0x0)\n"
            "\t/home/me/shop/cart/cart.go:12 +0x1d\nmain.main()\n\t/home/me/shop/main.go:3 +0x20"
        ),
        ["home/me/shop/cart/cart.go", "home/me/shop/main.go"],
        {"Add"},
    ),
    "Rust": (
        (
            "thread 'main' panicked at src/cart.rs:12:5:\nindex out of bounds\n   0: shop::cart::add\n"
            "             at ./src/main.rs:3:4\n"
            "  --> crates/shop/src/lib.rs:9:1"
        ),
        ["src/cart.rs", "src/main.rs", "crates/shop/src/lib.rs"],
        set(),
    ),
    "Ruby": (
        "lib/shop/cart.rb:12:in `add_item': sold out (Shop::SoldOut)\n\tfrom bin/shop.rb:3:in '<main>'",
        ["lib/shop/cart.rb", "bin/shop.rb"],
        {"add_item"},
    ),
    "C#": (
        (
            "System.NullReferenceException: Object reference not set\n"
            "   at Shop.Cart.Add(Item item) in C:\\src\\Shop\\Cart.cs:line 12\n   at Shop.Program.Main(String[] args)"
        ),
        ["src/Shop/Cart.cs"],
        {"Add"},
    ),
    "PHP": (
        (
            "PHP Fatal error:  Uncaught Exception: sold out in /srv/shop/Cart.php:12\nStack trace:\n"
            "#0 /srv/shop/Main.php(3): Shop\\Cart->add(1)\n#1 {main}"
        ),
        ["srv/shop/Cart.php", "srv/shop/Main.php"],
        {"add"},
    ),
    "C++": (
        (
            "==1==ERROR: AddressSanitizer: heap-use-after-free\n"
            "    #0 0x4f in shop::Cart::add(int) /src/shop/cart.cc:12:3\n"
            "#1  0x0000555 in main () at main.c:3"
        ),
        ["src/shop/cart.cc", "main.c"],
        {"add", "main"},
    ),
    "Swift": (
        "  * frame #0: 0x1 Shop`Cart.add(item=1) at Cart.swift:12:9",
        ["Cart.swift"],
        {"Cart"},
    ),
    "Elixir": (
        "** (KeyError) key :id not found\n    (shop 0.1.0) lib/shop/cart.ex:12: Shop.Cart.add_item/2",
        ["lib/shop/cart.ex"],
        {"add_item"},
    ),
    "Haskell": (
        "CallStack (from HasCallStack):\n  error, called at src/Shop/Cart.hs:12:9 in shop-0.1:Shop.Cart",
        ["src/Shop/Cart.hs"],
        {"error"},
    ),
    "Lua": (
        "lua: cart.lua:12: attempt to index nil\nstack traceback:\n\tshop/cart.lua:12: in function 'add_item'",
        ["shop/cart.lua"],
        {"add_item"},
    ),
}


@pytest.mark.parametrize("language", FRAMES)
def test_frames_of_a_traceback_are_found_the_place_of_the_failure_first(language: str) -> None:
    """Tracebacks of fifteen languages, as their runtimes print them."""
    text, paths, names = FRAMES[language]
    parts = parts_of(f"Adding to the cart fails\n\nThis is what we get:\n\n{text}\n")
    assert [file.path for file in parts.files if file.depth] == paths
    assert [file.depth for file in parts.files if file.depth] == list(range(1, len(paths) + 1))
    assert names <= set(parts.names)
    assert parts.title.of(parts.text) == "Adding to the cart fails"


def test_the_title_is_the_first_line_that_says_something() -> None:
    """The title is no greeting, no heading of a form, and has no markup."""
    cases = {
        "Wrong port in URLs\n\nThe port is lost.": "Wrong port in URLs",
        "# [Bug]: Wrong port in URLs\n\nThe port is lost.": "Wrong port in URLs",
        "Hi all,\n\n**Describe the bug**\nWrong port in URLs\n": "Wrong port in URLs",
        "Description\n\t\nWrong port in URLs": "Wrong port in URLs",
        "- wrong port\n- no host": "wrong port",
    }
    for text, title in cases.items():
        assert parts_of(text).title.of(text) == title


def test_of_one_long_line_the_first_sentence_is_the_title() -> None:
    """A question without line ends has a title too."""
    text = "The port of a URL is lost. " + "It happens with every proxy that we tried so far. " * 8
    assert parts_of(text).title.of(text) == "The port of a URL is lost."
    text = "the port of a url is lost " * 20
    title = parts_of(text).title
    assert title.start == 0 and 100 < title.end <= 200 and text[title.end] == " "


def test_the_error_is_the_title_of_a_bare_log() -> None:
    """The title of a traceback that is pasted alone is its last line."""
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: no such port: 12'
    parts = parts_of(text)
    assert parts.title.of(text) == "ValueError: no such port: 12"
    assert [span.of(text) for span in parts.errors] == ["ValueError: no such port: 12"]


def test_names_are_what_only_identifiers_are_written_like() -> None:
    """Names are not all capitalised words, and no words of prose; quoted ones come first."""
    text = (
        "Wrong port in URLs\n\nDescription\n\nSince Version 2 on Windows, Calling build_url() drops the port. "
        "HTTPAdapter is fine, and so is net.urls.parse_port. The setting `port` is kept.\n"
    )
    assert parts_of(text).names == ("port", "build_url", "HTTPAdapter", "parse_port")


def test_names_of_quoted_code_count() -> None:
    """Names in code are those that it defines, calls or qualifies."""
    text = "Ports are lost\n\n```python\nclass Proxy(Base):\n    def forward(self): return self.link.send(1)\n```\nwhy?"
    assert {"Proxy", "forward", "send"} <= set(parts_of(text).names)
    assert parts_of(text).prose == "Ports are lost\n\n```python\n```\nwhy?"


def test_files_and_dotted_modules_are_found() -> None:
    """Paths have slashes, whatever they were written with. Abbreviations, versions and addresses are no paths."""
    text = (
        "Ports are lost\n\nSee src\\net\\url.py, `lib/proxy.rb:12` and net.proxy.Forward, i.e. version 1.2.3 of "
        "https://example.org/a/b.py (ports.yaml) and https://example.org/net/blob/main/net/tunnel.go#L12"
    )
    files = [(file.path, file.dotted) for file in parts_of(text).files]
    assert files == [
        ("src/net/url.py", False),
        ("lib/proxy.rb", False),
        ("net/proxy/Forward", True),
        ("ports.yaml", False),
        ("net/tunnel.go", False),
    ]


def test_code_is_fenced_or_indented() -> None:
    """An open fence reaches to the end; an indented line of a list is prose."""
    text = "Title\n\n    a = 1\n    b = 2\n\n- item\n    goes on\n\n~~~\nc = 3\n~~~\n\n```\nd = 4"
    assert [span.of(text) for span in parts_of(text).code] == ["    a = 1\n    b = 2", "c = 3\n", "d = 4"]


@pytest.mark.parametrize(
    ("text", "long"), [("a" * 200, False), ("a" * 201, True), ("a\nb", False), ("a\nb\nc", True), ("a b", False)]
)
def test_a_long_question_is_one_of_many_characters_or_of_several_lines(text: str, long: bool) -> None:
    """Every other text is searched as it is."""
    assert is_long(text) is long


HOSTILE = st.text(st.sampled_from("aA_.:/\\ \t\n(`#@\"'<1~>-$\u00e9\u6f22\U0001f600\x00\u2028"), max_size=400)


@given(st.one_of(st.text(max_size=300), HOSTILE))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_can_be_taken_apart(text: str) -> None:
    """No text raises, and every span lies inside it."""
    parts = parts_of(text)
    spans = [parts.title, *parts.code, *parts.frames, *parts.errors, *(file.at for file in parts.files)]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert len(parts.title.of(text)) <= 200
    assert len(parts.names) <= 32 and len(parts.files) <= 48
    assert all(name in text for name in parts.names)
    assert len(parts.prose) <= len(text)


PATTERNS = (
    "a", "at ", "#0 in ", "\n", "`", "`a", "at a(", "a.", "a/", "a::b", "error", "a error: ", " at x\n", "'a", "C:",
    "[", " ", "~~~\n", "./a:1", "    x\n", 'File "', "://", "a://b/blob/", "frame #1: `", "\u6f22", "panicked at '",
    "_A", "(a.b)", "-> ",
)  # fmt: skip
"""Repeats each to 20,000 characters, once on one line and once on lines of 900 characters."""
CHILD = """
import json, resource, sys
from sidecar.engine.search.long_text import parts_of
texts = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
for text in texts:
    parts_of(text)
print(len(texts))
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="limits of processor time are Unix's")
def test_the_time_is_in_proportion_to_the_length() -> None:
    """Half a second of processor time for each text is twenty times what it needs; quadratic time would be minutes."""
    texts = [(pattern * 20_000)[:20_000] for pattern in PATTERNS]
    texts += ["\n".join([(pattern * 900)[:900]] * 22) for pattern in PATTERNS]
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(len(texts))), done.stderr
