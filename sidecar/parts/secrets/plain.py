"""Hides values in results whose name says password, token or key, although the value itself does not look like a
secret.

The index keeps such values, because masking them would remove words from files; its rules (`places.py`) are stricter. A
result shows asterisks in their place. This works line by line on single passages. The module is cheap to import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sidecar.parts.secrets.judge import is_placeholder

MASK = "*"

_PASSWORD = r"passw(?:or)?d|passwd|passphrase|passwort|contrase[nñ]a|mot_?de_?passe|(?<![a-z])pass|pwd"
_KEY = (
    r"secret|token|credentials?|api[_.-]?key"
    r"|(?:access|auth|private|secret|signing|encryption|master|shared)[_.-]?key"
)
_KEYS = tuple(
    f"{whose}{sign}"
    for whose in ("api", "access", "auth", "private", "secret", "signing", "encryption", "master", "shared")
    for sign in ("", "_", ".", "-")
)
_WORDS = ("pass", "pwd", "secret", "token", "credential", "key", "contrase")
_LONGEST_BEFORE = 16
"""More characters than a name has before such a word, as `encryption_` before `key`."""
_CALLED = rf"(?:(?P<password>{_PASSWORD})|{_KEY})"
_NAME = rf"[\w.-]{{0,60}}?{_CALLED}"
_QUOTED = r"(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){4,200})(?P=quote)"
_BARE = r"(?P<bare>[^\s\"'`#;,{}\[\]|>&*!][^\n]{2,200}?)"

# `name: "value"`, `"name" => 'value'`, `name = "value"`, `name: str = "value"`.
_IN_CODE = re.compile(rf"(?i){_CALLED}[\"'`]?\]?(?:\s?:\s?\w+)?\s{{0,8}}(?:=>|:=|=|:)\s{{0,8}}{_QUOTED}")
# `name: value` to the end of the line or to a comment.
_IN_SETTINGS = re.compile(
    rf"(?im)^[ \t]*(?:(?:-|export|set)[ \t]{{1,8}})?[\"']?{_NAME}[\"']?[ \t]{{0,8}}[:=][ \t]{{0,8}}"
    rf"(?:{_QUOTED}|{_BARE})[ \t]{{0,8}},?[ \t]{{0,8}}(?:[ \t][#;][^\n]*)?$"
)
# `- name: DB_PASSWORD` and, on the next line, `value: ...`, as in the environment of a container.
_IN_PAIRS = re.compile(
    rf"(?i)\bname[\"']?\s?[:=]\s?[\"']?{_NAME}[\"']?,?\s{{1,40}}[\"']?value[\"']?\s?[:=]\s?"
    r"(?:" + _QUOTED + r"|(?P<bare>[^\s\"'`#;,{}\[\]|>&*!][^\s]{2,200}))"
)
_SIGN = r"[\"'`]?\]?\s{0,8}[^\s\w.(\[)-]"
_SUSPICIOUS = re.compile(rf"(?i)(?:{_PASSWORD}|{_KEY}){_SIGN}")
_SUSPICIOUS_PAIR = re.compile(rf"(?im)(?:{_PASSWORD}|{_KEY})(?:{_SIGN}|[\"']?,?[ \t]*$)")
_PAIR_LINES = 2
_BEFORE = 64
_EXAMINED = 1000
"""The maximum number of characters that are examined after the first such name in a line."""

_SETTINGS_FILE = re.compile(
    r"(?i)\.(?:ya?ml|json5?|jsonc|toml|ini|cfg|conf|cnf|config|properties|env|tfvars|service|netrc|npmrc|plist)$"
    r"|(?:^|/)(?:\.env[^/]*|\.[a-z]+rc|[^./]+\.env\.[^/]+)$"
)
# Tests and documents invent their values, and translations have the word itself as a value.
_MADE_UP = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures?|examples?|samples?|mocks?|docs?|i18n|l10n|locales?|langs?"
    r"|languages?|translations?|schemas?)/|(?:^|/)(?:test_|conftest)[^/]*$|[._](?:test|spec|schema)s?\.[^./]+$"
    r"|\.(?:example|sample|template|dist|defaults|tmpl)(?:\.[a-z]+)?$|(?:^|/)(?:openapi|swagger)[^/]*$|\.(?:md|mdx|rst|txt|adoc)$"
)
_NO_LITERAL = re.compile(
    r"(?i)^[$%@!]|\$[{(]|\{\{|<|env[.(\[:]|process\.|os\.|secrets?[./:]|vault[.:/]|ref\+|arn:|op://|file:|https?://|enc\[|\*{3}"
)
_STAND_IN = re.compile(
    r"(?i)(?:null|none|nil|true|false|yes|no|on|off|undefined|string|str|text|varchar.*|char.*|boolean|bool|int(?:eger)?"
    r"|number|object|any|[~^]?\d+\.\d.*|root|admin|user|guest|postgres|mysql|mariadb|redis|rabbitmq|minio|demo"
    r"|optional|required|required\|.*|hidden|input|field|basic|bearer|plain|auto|generated?|unset|empty"
    r"|(?:my|the|your|some|new|old|current|confirm|user|db|database|root|admin|repeat|a)?[ _-]?"
    r"(?:pass(?:w(?:or)?d|wort|phrase|code)?|pwd|pw|secret|token|credentials?|api[ _-]?key)s?"
    r"(?:[ _-]?(?:here|value|hash|field|confirmation|again))?"
    r"|(?:md|sha|bcrypt|scrypt|argon|pbkdf|hmac|rsa|ed|aes|hs|rs|es)-?\d*\w?(?:-\d+)*|x+|\d{1,2}|.{0,3})"
)


def without_plain_secrets(path: str, text: str) -> str:
    """Returns a passage of a file with each character of such values replaced by an asterisk."""
    lines = _lines_with_words(text)
    if not lines or _MADE_UP.search(path):
        return text
    settings = bool(_SETTINGS_FILE.search(path))
    spans = {
        span
        for start, end in _suspicious_lines(text, lines, _SUSPICIOUS_PAIR if settings else _SUSPICIOUS)
        for pattern in ((_IN_SETTINGS, _IN_PAIRS, _IN_CODE) if settings else (_IN_CODE,))
        for span in _found(pattern, text, start, end, settings)
    }
    for start, end in spans:
        text = text[:start] + MASK * (end - start) + text[end:]
    return text


def _lines_with_words(text: str) -> dict[int, int]:
    """Returns the positions where lines begin that contain one of the words, with the position of the first word in
    each. Searching for plain words takes very little time."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(c.lower() if c.isascii() else c for c in text)
    only_named = text.isascii()  # other letters may count as equal to those in `_KEYS`
    found: dict[int, int] = {}
    for word in _WORDS:
        at = lowered.find(word)
        while at >= 0:
            if word == "key" and only_named and not lowered.endswith(_KEYS, 0, at):
                at = lowered.find(word, at + 1)
                continue
            start = lowered.rfind("\n", 0, at) + 1
            found[start] = min(at, found.get(start, at))
            end = lowered.find("\n", at)
            at = lowered.find(word, end) if end >= 0 else -1
    return found


def _suspicious_lines(text: str, lines: Mapping[int, int], suspicious: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each piece to examine. A piece begins a little before the first such name in a line
    and ends with the next line, or after `_EXAMINED` characters, which limits the time for any text."""
    for start, first in lines.items():
        end: int = start - 1
        for _ in range(_PAIR_LINES):
            end = text.find("\n", end + 1) if end + 1 <= len(text) else -1
            if end < 0:
                end = len(text)
        match = suspicious.search(text, max(start, first - _LONGEST_BEFORE), end)
        if match:
            yield max(start, match.start() - _BEFORE), min(end, match.start() + _EXAMINED)


def _found(pattern: re.Pattern[str], text: str, start: int, end: int, settings: bool) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text, start, end):
        for group in ("quoted", "bare"):
            if match.groupdict().get(group) and _is_secret(match[group], bool(match["password"]), settings):
                yield match.span(group)


def _is_secret(value: str, called_password: bool, in_settings: bool) -> bool:
    """Whether a value may be a secret. In settings, any value that is called a password is one, unless it is a
    placeholder, a reference or has spaces. Elsewhere, and with other names, it needs a letter and a digit."""
    value = value.strip()
    if is_placeholder(value) or _NO_LITERAL.search(value) or _STAND_IN.fullmatch(value) or " " in value:
        return False
    if called_password and in_settings:
        return True
    mixed = bool(re.search(r"[A-Za-z]", value) and re.search(r"\d", value))
    return mixed and len(value) >= (6 if called_password else 8) and not re.search(r"[/()\[\]{}.]", value)
