"""What a rule about secrets consists of, and the parts of expressions that many of them share.

Expressions have the syntax of RE2: no look-around, no back-references, linear time. Group 1 of a match is the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.parts.secrets.judge import entropy, is_placeholder, looks_random


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret.

    - `is_secret`: judges the value; `least_entropy`: in bits per character;
    - `whole`: a file with such a secret is withheld, because masking the match does not hide all of it;
    - `paths`: the rule is only for files whose path matches; `keywords`: only for texts that contain one of these,
      which are in lower case;
    - `made_up`: tests and documents invent such values, so the rule does not apply there;
    - `needs`: in a family, an expression for what must stand near its word too. It is cheap, so it saves time.
    """

    name: str
    regex: str
    is_secret: Callable[[str], bool] = looks_random
    whole: bool = False
    paths: re.Pattern[str] | None = None
    made_up: bool = False
    keywords: tuple[str, ...] = ()
    least_entropy: float = 0.0
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Rules that need one of the same words. `words` is an expression of RE2 for these; a match of a rule begins in the
    line of such a word or up to 300 characters before it, and ends at most 700 characters or four lines after it.
    Tests and documents invent such values, so no family applies there. `paths`: as in a rule.
    """

    words: str
    rules: tuple[SecretRule, ...]
    paths: re.Pattern[str] | None = None


def is_form(value: str) -> bool:
    """Accepts a value in the rule's form unless it is a placeholder."""
    return not is_placeholder(value)


def is_block(value: str) -> bool:
    """Whether base64 text may be a key. Only entropy counts, because a real key may contain long runs of one letter."""
    return entropy(value) >= 3.3


# Files where values may be unquoted: configuration and shell scripts.
BARE = re.compile(
    r"(?i)\.(?:ini|cfg|conf|cnf|config|properties|ya?ml|toml|env|sh|bash|zsh|fish|mk|tf|tfvars|hcl|http|rest|service"
    r"|example|sample|template|dist|tmpl|netrc|gitconfig|npmrc|bat|cmd|ps1|sql)$"
    r"|(?:^|/)(?:[^./]+|\.[^/.]+|(?:dockerfile|containerfile|makefile|\.env)[^/]*|[^/]*\.dockerfile)$"
)
SHELL = re.compile(
    r"(?i)\.(?:sh|bash|zsh|fish|ya?ml|md|rst|txt|mk|toml|bat|cmd|ps1)$|(?:^|/)[^.]+$|(?:docker|make)file[^/]*$"
)

NAME = (
    r"(?:passw(?:or)?d|passwd|passphrase|(?-i:\bpass|_pass|PASS|Pass|\bpwd|_pwd|PWD|Pwd)|secret|token|credential"
    r"|api[_.-]?key|(?:access|auth|private|secret|signing|encrypt(?:ion)?|master|app(?:lication)?|account|service|shared"
    r"|session|cookie|jwt|hmac|ssh|license|webhook|storage|admin|client|subscription|deploy"
    r"|validation|decryption|routing|integration|ingest(?:ion)?|instrumentation|merchant|recovery)[_.-]?key"
    r"|(?-i:[A-Z0-9]_K(?:EY|ey)))"
)
# The text between the word in a name that indicates a secret and the sign of assignment: `["DB_PASSWORD_2"] : String`.
REST = r"[\w.-]{0,20}\\?[\"'`]?\]?(?:[ \t]?:[ \t]?&?(?:'static )?(?:str|String|string|char\*)\??)?[ \t]{0,8}"
SIGN = r"(?:=>|:=|\?=|\|\|=?|\?\?=?|==?|:|,)[ \t\n]{0,8}"
VALUE = r"[^\s\"'`]"

# Names that contain one of the words but hold no secret.
NO_SECRET_NAME = re.compile(
    r"(?i)pub(?:lic)?[_.-]?key|publishable|bypass|compass|trespass|surpass|csrf|xsrf|integrity|checksum|digest|fingerprint|token[_.-]?(?:type|ur[il]|endpoint)"
    r"|(?:secret|key|token|credential|password)s?[_.-]?(?:name|id|path|file|ref|type|url|uri|size|length|field|version)\b|(?:site|cache)[_.-]?key"
)
TEST_PATH = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures?|examples?|mocks?|docs?)/"
    r"|(?:^|/)(?:test_|conftest)[^/]*$|[._](?:test|spec)s?\.[^./]+$"
)
