"""Judges whether a value looks like a generated key. Its entropy is compared with that of its own alphabet, so that 32
hexadecimal digits count as fully random.

`places` and `rules` define where secret values stand and which forms keys have.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

# The letter pairs that make up nine tenths of all pairs in words of source code, and only three tenths of those in
# random letters.
_PAIRS = frozenset(
    "in er re on te ti es ed at en ng nt co st le de se al or li io ri ar it ra ec an ns tr ct ro ve me pe pr si ce et"
    " ta di ne ca nd ac ea ic lo un is la as rs el ch ll ma ss pa to nc fi na he ts ge ly om il ex ut bl th po ab oc ou"
    " mi ad su ur mp rt pl ie em us ni ap im ha ol no os id sp ck ep so ty op ia ig am ai sh sc ot ul fo da tt pt ke cl"
    " iv if ow od ef fe ho va ag ci iz pp ee ff ir mo vi sa ev hi up pi rm gr do cr ib rr ip ze rd tu nf cu ds bu be qu"
    " eg ub ue ru gi ba tc ls wa ov tl um oo ry lu bo bi fa rl rc uc lt yp au fl nn du ld nv rn ht fu ga av hr wi ms we"
    " ui pu ay xp ua cc bs gh dl gn og".split()
)
_WORDY = 0.68

_PLACEHOLDER = re.compile(
    r"(?i)example|sample|placeholder|change_?me|your[_\-]|dummy|fake|redacted|xxxx|test|insert|replace|foobar|lorem"
    r"|abcdef|123456|qwerty|deadbeef|(.)\1{5}"
    r"|correct[-_ ]?horse[-_ ]?battery"
    # The example tokens of RFC 6749, and the user in RFC 7617.
    r"|2YotnFZFEjr1zCsicMWpAA|tGzv3JOkF0XG5Qx2TlKWIA|SplxlOBeZQQYbYS6WxSbIA|QWxhZGRpbjpvcGVu"
    # The signature of the sample token on jwt.io, which many tutorials copy.
    r"|SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)
_TEMPLATE = re.compile(
    r"\$\{|\{\{|<[^<>]*>|%\(|\$\(|\{[a-zA-Z_]|\.\.\.|\(\)|\[\]|^\$|^%[A-Za-z_]+%$|^@[A-Za-z_]+@$|\*\*\*|\|\|"
)
_PATH_LIKE = re.compile(
    r"://|^(?:[/.#@&]|~/)|^[a-z]:\\|\.(?:json|ya?ml|pem|key|txt|py|js|ts|rb|go|html?|crt|env|xml)$", re.I
)
_CODE = re.compile(r"[()\[\]{}<>,;\\`]|::|->")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PREFIX = re.compile(r"^(?:[a-z]{1,12}[-_]){1,3}(?=[0-9a-fA-F-]{32,}$)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{32,}={0,2}")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_JOINED = re.compile(r"(?:[A-Za-z]+|\d+)(?:[-_.:/](?:[A-Za-z]+|\d+))+")
_WORD_AND_NUMBER = re.compile(r"[A-Za-z_./-]+\d{1,4}|v?\d+(?:[._-]\d+)*(?:[._-]?[A-Za-z]+\d*)?")


def is_placeholder(value: str) -> bool:
    """Whether the value stands where a secret will be, or is an example from a standard."""
    return bool(_PLACEHOLDER.search(value) or _TEMPLATE.search(value))


def entropy(value: str) -> float:
    """Returns the Shannon entropy in bits per character (Shannon, "A Mathematical Theory of Communication", 1948); 0
    for an empty value.
    """
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())


def is_spread(value: str) -> bool:
    """Whether the characters differ about as much as random ones would, for a value of this length and alphabet.

    They must have three quarters of the greatest possible entropy.
    """
    alphabet = (
        16 if _HEX.fullmatch(value) or _UUID.fullmatch(value) else 36 if value in (value.lower(), value.upper()) else 62
    )
    return entropy(value) >= 0.75 * math.log2(min(alphabet, len(value)))


def looks_random(value: str) -> bool:
    """Whether the value mixes letters and digits unlike any name, path, version or call.

    Services put a word before a hexadecimal number or a UUID: `fc-...`. It does not count.
    """
    value = _PREFIX.sub("", value)
    if is_placeholder(value) or _CODE.search(value) or not is_spread(value):
        return False
    if _UUID.fullmatch(value) or _HEX.fullmatch(value):
        return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if _PATH_LIKE.search(value):
        return bool(_BASE64.fullmatch(value)) and share_of_word_pairs(value) < 0.5 and value.count("/") < 5
    return _is_mixed(value)


def _is_mixed(value: str) -> bool:
    """Returns the last test of `looks_random`, for a value that is not a UUID, a hexadecimal number or like a path."""
    words, piece = share_of_word_pairs(value), _mean_piece(value)
    if not any(c.isalpha() for c in value):
        return False
    if not any(c.isdigit() for c in value):
        # Without a digit it takes more to tell a key from several names in a row.
        return len(value) >= 16 and value.upper() != value != value.lower() and words < 0.5 and piece < 4
    if words >= 0.5 and _JOINED.fullmatch(value):
        return False
    if _WORD_AND_NUMBER.fullmatch(value) and (words >= 0.5 or piece > 8):
        return piece < 3 and words < 0.8
    return words < _WORDY or piece < 3 or _changes(value) >= 6


def _mean_piece(value: str) -> float:
    """Returns the mean number of letters per word, if each capital begins a word: four or more in names, two or three
    in random letters.
    """
    pieces = _PIECE.findall(value)
    return sum(map(len, pieces)) / len(pieces) if pieces else 0.0


def share_of_word_pairs(value: str) -> float:
    """Returns the share (0 to 1) of letter pairs that are frequent in words; 0 if there are fewer than three pairs."""
    lowered = value.lower()
    pairs = [a + b for a, b in pairwise(lowered) if a.isalpha() and b.isalpha()]
    return sum(pair in _PAIRS for pair in pairs) / len(pairs) if len(pairs) > 2 else 0.0


def _changes(value: str) -> int:
    """Returns how often a digit follows a letter or a letter follows a digit."""
    kinds = [c.isdigit() for c in value if c.isalnum()]
    return sum(a != b for a, b in pairwise(kinds))
