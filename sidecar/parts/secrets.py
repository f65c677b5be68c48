"""Files that hold a secret: by name, and by what their text shows. A file with one is withheld whole.

Aims at precision: code that mentions a pattern, a placeholder or a documented example key is not withheld. Never
repeats a secret. Not here: reading files, or what is done with a withheld one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate

_ALLOWED_SUFFIXES = (".example", ".sample", ".template", ".dist", ".defaults", ".tmpl", ".d.ts")

_NAMES: tuple[tuple[str, str], ...] = (
    # (glob over the lower-case name, what such a file holds)
    (".env", "environment file"),
    (".env.*", "environment file"),
    (".envrc.local", "environment file"),
    ("*.pem", "key or certificate"),
    ("*.key", "private key"),
    ("*.p12", "key store"),
    ("*.pfx", "key store"),
    ("*.ppk", "private key"),
    ("*.jks", "key store"),
    ("*.keystore", "key store"),
    ("*.kdbx", "password database"),
    ("*.asc.key", "private key"),
    ("id_rsa", "private key"),
    ("id_dsa", "private key"),
    ("id_ecdsa", "private key"),
    ("id_ed25519", "private key"),
    ("id_ecdsa_sk", "private key"),
    ("id_ed25519_sk", "private key"),
    (".netrc", "logins"),
    ("_netrc", "logins"),
    (".pgpass", "logins"),
    (".my.cnf", "logins"),
    (".git-credentials", "logins"),
    (".htpasswd", "password hashes"),
    (".dockercfg", "registry logins"),
    (".pypirc", "registry logins"),
    (".vault-token", "token"),
    (".s3cfg", "access keys"),
    ("kubeconfig", "cluster logins"),
    ("*.kubeconfig", "cluster logins"),
    ("credentials.json", "credentials"),
    ("client_secret*.json", "credentials"),
    ("service-account*.json", "credentials"),
    ("service_account*.json", "credentials"),
    ("terraform.tfstate", "infrastructure state"),
    ("terraform.tfstate.backup", "infrastructure state"),
)

_PATHS: tuple[tuple[str, str], ...] = (
    (".aws/credentials", "access keys"),
    (".docker/config.json", "registry logins"),
    (".kube/config", "cluster logins"),
    (".gnupg/*", "private keys"),
    (".config/gh/hosts.yml", "token"),
    ("config/master.key", "private key"),
)


_ANY_NAME = re.compile("|".join(translate(glob) for glob, _ in _NAMES))
_ANY_PATH = re.compile("|".join(f"(?:.*/)?{translate(glob)}" for glob, _ in _PATHS))


def secret_name(path: str) -> str | None:
    """Why the name alone withholds a file; None when it does not (`.env.example` is judged by its content)."""
    lowered = path.lower()
    name = lowered.rsplit("/", 1)[-1]
    if not (_ANY_NAME.match(name) or _ANY_PATH.match(lowered)) or name.endswith(_ALLOWED_SUFFIXES):
        return None
    for glob, meaning in _NAMES:
        if fnmatchcase(name, glob):
            return f"{glob} ({meaning})"
    for glob, meaning in _PATHS:
        if fnmatchcase(lowered, glob) or fnmatchcase(lowered, f"*/{glob}"):
            return f"{glob} ({meaning})"
    return None


# ---------------------------------------------------------------- by content


@dataclass(frozen=True, slots=True)
class _Form:
    """One kind of secret.

    `hints`: one of them must be in the text, else the expression, which begins with plain text for speed, is not tried.
    Group `key` must have at least `entropy` bits per character.
    """

    name: str
    hints: tuple[str, ...]
    regex: re.Pattern[str]
    entropy: float = 3.0
    placeholders: bool = True
    """Whether a key that reads like a placeholder is one; encoded binary may well hold long runs of one letter."""


def _form(name: str, hints: str, regex: str, entropy: float = 3.0, placeholders: bool = True) -> _Form:
    return _Form(name, tuple(hints.split()), re.compile(regex), entropy, placeholders)


# A token must not be the middle of a longer word; what stands before it is looked at after the match.
_END = r"(?![A-Za-z0-9_\-])"
_WORD = re.compile(r"[A-Za-z0-9_\-]")

_FORMS: tuple[_Form, ...] = (
    _form(
        "a private key",
        "-----BEGIN",
        # A header alone is a mention; a key has base64 after it, be it in a string with \n.
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n|[\s\"'+,])*"
        r"(?:[A-Za-z][A-Za-z-]{2,30}: [^\n\\]{1,80}(?:\\n|\s)+){0,4}(?P<key>[A-Za-z0-9+/=]{40,})",
        3.3,
        placeholders=False,
    ),
    _form("an AWS access key id", "AKIA ASIA", r"A(?:KIA|SIA)(?P<key>[A-Z2-7]{16})" + _END),
    _form("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_(?P<key>[A-Za-z0-9]{36,251})" + _END),
    _form("a GitHub token", "github_pat_", r"github_pat_(?P<key>[A-Za-z0-9]{22}_[A-Za-z0-9]{59})" + _END),
    _form("a GitLab token", "glpat- gldt- glrt-", r"gl(?:pat|dt|rt)-(?P<key>[A-Za-z0-9_\-]{20,64})" + _END),
    _form("a Slack token", "xox", r"xox[abeoprs]-(?P<key>\d{6,}-[A-Za-z0-9\-]{12,250})" + _END),
    _form(
        "a Slack webhook",
        "hooks.slack.com",
        r"/services/(?P<key>T[A-Z0-9]{7,12}/B[A-Z0-9]{7,12}/[A-Za-z0-9]{22,26})" + _END,
    ),
    _form("a Stripe key", "sk_live_ rk_live_", r"k_live_(?P<key>[A-Za-z0-9]{20,250})" + _END),
    _form("a Google API key", "AIza", r"AIza(?P<key>[A-Za-z0-9_\-]{35})" + _END, 3.5),
    _form("a Google OAuth secret", "GOCSPX-", r"GOCSPX-(?P<key>[A-Za-z0-9_\-]{28})" + _END, 3.5),
    _form("an Anthropic key", "sk-ant-", r"sk-ant-[a-z]{3,8}\d\d-(?P<key>[A-Za-z0-9_\-]{60,200})" + _END, 3.5),
    _form(
        "an OpenAI key",
        "sk-proj- sk-svcacct- sk-admin-",
        r"sk-(?:proj|svcacct|admin)-(?P<key>[A-Za-z0-9_\-]{40,250})" + _END,
        3.5,
    ),
    _form("an OpenAI key", "T3BlbkFJ", r"sk-(?P<key>[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})" + _END, 3.5),
    _form("an npm token", "npm_", r"npm_(?P<key>[A-Za-z0-9]{36})" + _END, 3.5),
    _form("an npm token", ":_authToken", r":_authToken\s*=\s*(?P<key>[A-Za-z0-9_\-]{20,})"),
    _form("a PyPI token", "pypi-AgE", r"pypi-(?P<key>AgE[A-Za-z0-9_\-]{50,1000})", 3.5),
    _form("a SendGrid key", "SG.", r"SG\.(?P<key>[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43})" + _END, 3.5),
    _form("a Hugging Face token", "hf_", r"hf_(?P<key>[A-Za-z]{34})" + _END, 3.5),
    _form("a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[por]_v1_(?P<key>[a-f0-9]{64})" + _END),
    _form("an Azure storage key", "AccountKey=", r"AccountKey=(?P<key>[A-Za-z0-9+/]{86}==)", 4.0),
    _form("a service account key", '"private_key_id"', r'"private_key_id"\s*:\s*"(?P<key>[a-f0-9]{40})"'),
    # The signature of a JWT; that of jwt.io's sample token, in half of all tutorials, is not one.
    _form(
        "a signed token (JWT)",
        ".eyJ",
        r"eyJ[A-Za-z0-9_\-]{10,2000}\.eyJ[A-Za-z0-9_\-]{40,8000}\."
        r"(?!SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c)(?P<key>[A-Za-z0-9_\-]{42,})",
        4.0,
    ),
)

_URL_LOGIN = re.compile(
    r"://[A-Za-z0-9._%+\-]{1,64}:(?P<key>[A-Za-z0-9!$%&*+.^_~\-]{12,100})@[A-Za-z0-9.\-]{1,200}\.[A-Za-z]{2,}"
)

_KEY_NAMES = ("password", "passwd", "pwd", "secret", "apikey", "api_key", "api-key", "token")
# What may follow such a name, up to a quoted value.
_QUOTED = re.compile(r"(?i)[_-]?(?:access[_-]?)?(?:key)?[\"']?\s*(?:=>|:=|=|:)\s*[\"'](?P<key>[^\s\"'`]{16,200})[\"']")
# Configuration has no quotes around its values.
_BARE = re.compile(r"(?i)[_-]?(?:access[_-]?)?(?:key)?[ \t]*[:=][ \t]*(?P<key>[^\s\"'`]{16,200})[ \t]*(?:\n|$)")
_BARE_FILES = (".ini", ".cfg", ".conf", ".properties", ".yaml", ".yml", ".toml", ".example", ".sample", ".template")
_ASSIGNED_ENTROPY = 4.0

_PLACEHOLDER = re.compile(
    r"(?i)example|sample|placeholder|change_?me|your[_\-]|dummy|fake|redacted|xxxx|test|insert|replace|foobar|lorem"
    r"|abcdef|123456|qwerty|deadbeef|(.)\1{5}"
    # The example tokens of RFC 6749.
    r"|2YotnFZFEjr1zCsicMWpAA|tGzv3JOkF0XG5Qx2TlKWIA|SplxlOBeZQQYbYS6WxSbIA"
)
_TEMPLATE = re.compile(r"\$\{|\{\{|<[^>]*>|%\(|\$\(|\{[a-zA-Z_]|\.\.\.|\(\)|\[\]")
_TEST_PATH = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures?|examples?|mocks?|docs?)/"
    r"|(?:^|/)(?:test_|conftest)[^/]*$|[._](?:test|spec)s?\.[^./]+$"
)


def find_secret(path: str, text: str) -> str | None:
    """Why to withhold a file, with its line (`line 3: a GitHub token`) or name; never the secret. None: clean."""
    named = secret_name(path)
    if named:
        return f"by name: {named}"
    for form in _FORMS:
        if any(hint in text for hint in form.hints):
            for match in form.regex.finditer(text):
                if _begins_a_word(text, match) and _is_real(match["key"], form.entropy, form.placeholders):
                    return _reason(text, match, form.name)
    return _find_login(text) or _find_assignment(path, text)


def _begins_a_word(text: str, match: re.Match[str]) -> bool:
    """`k_live_` stands for `sk_live_` and `rk_live_`; all else begins where it matched."""
    before = match.start() - (text[match.start() : match.start() + 2] == "k_")
    return before <= 0 or not match[0][0].isalnum() or not _WORD.match(text[before - 1])


def _find_login(text: str) -> str | None:
    for match in _URL_LOGIN.finditer(text):
        if _looks_random(match["key"]) and _is_real(match["key"], 3.5):
            return _reason(text, match, "a login in a URL")
    return None


def _find_assignment(path: str, text: str) -> str | None:
    """A password-like name given a random-looking string. Tests and documents make such strings up, so not there."""
    if _TEST_PATH.search(path):
        return None
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text
    forms = (_QUOTED, _BARE) if path.lower().endswith(_BARE_FILES) else (_QUOTED,)
    for name in _KEY_NAMES:
        at = lowered.find(name)
        while at >= 0:
            for form in forms:
                match = form.match(text, at + len(name))
                if match and _looks_random(match["key"]) and _is_real(match["key"], _ASSIGNED_ENTROPY):
                    return _reason(text, match, "a password or key in plain text")
            at = lowered.find(name, at + len(name))
    return None


def _reason(text: str, match: re.Match[str], name: str) -> str:
    return f"line {text.count(chr(10), 0, match.start()) + 1}: {name}"


def _is_real(key: str, least_entropy: float, placeholders: bool = True) -> bool:
    if placeholders and (_PLACEHOLDER.search(key) or _TEMPLATE.search(key)):
        return False
    return _entropy(key) >= least_entropy


def _looks_random(key: str) -> bool:
    """Digits, capitals and small letters all mixed, or long hexadecimal; not words, paths, URLs or calls."""
    if re.fullmatch(r"[0-9a-f]{32,}|[0-9A-F]{32,}", key):
        return True
    if "://" in key or key.startswith(("/", ".", "#", "$", "%", "@")) or re.search(r"[()\[\]{}<>,;\\]", key):
        return False
    kinds = (r"[0-9].*[0-9]", r"[a-z].*[a-z]", r"[A-Z].*[A-Z]")
    return all(re.search(kind, key) for kind in kinds) and not re.search(r"[a-z]{7}", key)


def _entropy(key: str) -> float:
    """Shannon entropy in bits per character."""
    counts = Counter(key)
    return -sum(count / len(key) * math.log2(count / len(key)) for count in counts.values())
