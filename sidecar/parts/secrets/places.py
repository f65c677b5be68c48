"""Sidecar's own rules about secrets. Most recognise a secret by its place: after a name, in a URL, a header, a command
or a file of logins.

They also cover some keys with a form of their own; the others of those are in `data/gitleaks.json`. Expressions have
the syntax of RE2: no look-around, no back-references, linear time. Group 1 of a match is the value.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from sidecar.parts.secrets.judge import entropy, is_placeholder, looks_random


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret.

    - `is_secret`: judges the value; `least_entropy`: in bits per character;
    - `whole`: a file with such a secret is withheld, because masking the match does not hide all of it;
    - `paths`: the rule is only for files whose path matches; `keywords`: only for texts that contain one of these,
      which are in lower case;
    - `made_up`: tests and documents invent such values, so the rule does not apply there.
    """

    name: str
    regex: str
    is_secret: Callable[[str], bool] = looks_random
    whole: bool = False
    paths: re.Pattern[str] | None = None
    made_up: bool = False
    keywords: tuple[str, ...] = ()
    least_entropy: float = 0.0


def _is_form(value: str) -> bool:
    """Accepts a value in the rule's form unless it is a placeholder."""
    return not is_placeholder(value)


def _is_block(value: str) -> bool:
    """Whether base64 text may be a key. Only entropy counts, because a real key may contain long runs of one letter."""
    return entropy(value) >= 3.3


def _is_login(value: str) -> bool:
    """Whether a value is `user:password` in base64, as in headers and in the files of Docker and npm, with a likely
    password.
    """
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (Error, ValueError):
        return looks_random(value)
    user, colon, password = decoded.partition(":")
    return is_password(password if colon else user)


def is_password(value: str) -> bool:
    """Whether a value may be a password. Less strict than `looks_random`, for places where a password is expected.

    Ten characters with a letter and a digit are enough, unless they are a word with up to four digits at its end.
    """
    if is_placeholder(value) or len(value) < 8 or not re.search(r"[A-Za-z]", value) or not re.search(r"\d", value):
        return False
    return looks_random(value) or (len(value) >= 10 and not re.fullmatch(r"[A-Za-z_-]+\d{0,4}", value))


def _is_url_password(value: str) -> bool:
    """Returns the same as `is_password`, for a value with percent-encoding."""
    return is_password(unquote(value))


def _is_any_password(value: str) -> bool:
    """Whether a value may be a password, less strict than `is_password`, for places where nothing else can stand: it
    has at least six characters and is not a word that stands for a password.
    """
    plain = unquote(value)
    return not is_placeholder(plain) and not _EXPLAINING.fullmatch(plain) and len(plain) >= 6


# Words that people write in place of a password; a single word usually is one.
_EXPLAINING = re.compile(
    r"(?i)(?:my|the|some|secret|super)?[_-]?(?:pass(?:w(?:or)?d|phrase)?|pwd|pw|secret|token|user(?:name)?|admin|root|login"
    r"|guest|default|api[_-]?key|oauth2?|x-oauth-basic|postgres|mysql|docker|git|hello|world|foo|bar|baz|none|null)"
    r"(?:[_-]?(?:pass(?:word)?|here|value|token|key))?[\d!_-]{0,4}|[a-z_]+|\d+|:.*"
)
# Files where values may be unquoted: configuration and shell scripts.
_BARE = re.compile(
    r"(?i)\.(?:ini|cfg|conf|cnf|config|properties|ya?ml|toml|env|sh|bash|zsh|fish|mk|tf|tfvars|hcl|http|rest|service"
    r"|example|sample|template|dist|tmpl|netrc|gitconfig|npmrc|bat|cmd|ps1|sql)$"
    r"|(?:^|/)(?:[^./]+|\.[^/.]+|(?:dockerfile|containerfile|makefile|\.env)[^/]*|[^/]*\.dockerfile)$"
)
_SHELL = re.compile(
    r"(?i)\.(?:sh|bash|zsh|fish|ya?ml|md|rst|txt|mk|toml|bat|cmd|ps1)$|(?:^|/)[^.]+$|(?:docker|make)file[^/]*$"
)

_NAME = (
    r"(?:passw(?:or)?d|passwd|passphrase|(?-i:\bpass|_pass|PASS|Pass|\bpwd|_pwd|PWD|Pwd)|secret|token|credential"
    r"|api[_.-]?key|(?:access|auth|private|secret|signing|encrypt(?:ion)?|master|app(?:lication)?|account|service|shared"
    r"|session|cookie|jwt|hmac|ssh|license|webhook|storage|admin|client|subscription|deploy)[_.-]?key|(?-i:[A-Z0-9]_KEY))"
)
# The text between the word in a name that indicates a secret and the sign of assignment: `["DB_PASSWORD_2"] : String`.
_REST = r"[\w.-]{0,20}\\?[\"'`]?\]?(?:[ \t]?:[ \t]?&?(?:'static )?(?:str|String|string|char\*)\??)?[ \t]{0,8}"
_SIGN = r"(?:=>|:=|\?=|\|\|=?|\?\?=?|==?|:|,)[ \t\n]{0,8}"
_VALUE = r"[^\s\"'`]"

RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "a private key",
        # A header alone is a mention; a key has base64 after it, possibly in a string with \n.
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n|[\s\"'+,])*"
        r"(?:[A-Za-z][A-Za-z-]{2,30}: [^\n\\]{1,80}(?:\\n|\s)+){0,4}([A-Za-z0-9+/=]{40,})",
        _is_block,
        whole=True,
    ),
    SecretRule(
        "a PuTTY key",
        r"PuTTY-User-Key-File-\d: [\s\S]*?Private-Lines: \d+\s+([A-Za-z0-9+/=]{40,})",
        _is_block,
        whole=True,
    ),
    SecretRule(
        "cluster logins", r"(?:client-key-data|id-token): [\"']?([A-Za-z0-9+/=_.-]{60,})", _is_block, whole=True
    ),
    SecretRule(
        "registry logins",
        r"\"auths\"\s*:\s*\{[^\]]*?\"auth\"\s*:\s*\"([A-Za-z0-9+/]{12,}={0,2})\"",
        _is_login,
        whole=True,
    ),
    SecretRule("a VPN key", r"(?i)(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)", _is_form),
    SecretRule(
        "an npm login", r"(?im)(?:^|[:/\s])_(?:auth|password)[ \t]*=[ \t]*[\"']?([A-Za-z0-9+/]{8,}={0,2})", _is_login
    ),
    SecretRule("an npm token", r":_authToken[ \t]*=[ \t]*[\"']?([A-Za-z0-9_.\-]{20,})", _is_form),
    SecretRule("a webhook secret", r"\bwhsec_([A-Za-z0-9+/]{24,}={0,2})", _is_form),
    SecretRule("a GitHub token", r"\b(?:gh[pousr]_|github_pat_)([A-Za-z0-9_]{36,251})", _is_form, least_entropy=3.0),
    SecretRule("a GitLab token", r"\bgl(?:pat|dt|rt|ptt)-([A-Za-z0-9_\-]{20,64})", _is_form, least_entropy=3.0),
    SecretRule("a Slack token", r"\bxox[abeoprs]-(\d{6,}-[A-Za-z0-9\-]{12,250})", _is_form, least_entropy=3.0),
    SecretRule("an Anthropic key", r"\bsk-ant-[a-z]{3,8}\d\d-([A-Za-z0-9_\-]{60,200})", _is_form, least_entropy=3.5),
    SecretRule("an OpenAI key", r"\bsk-(?:proj|svcacct|admin)-([A-Za-z0-9_\-]{40,250})", _is_form, least_entropy=3.5),
    SecretRule("a Hugging Face token", r"\bhf_([A-Za-z]{34})\b", _is_form, least_entropy=3.5),
    SecretRule(
        "an Azure storage key",
        r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43,86}={1,2})",
        _is_form,
        least_entropy=4.0,
    ),
    SecretRule(
        "a Discord token", r"\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})", least_entropy=4.0
    ),
    SecretRule("a Discord webhook", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,80})", _is_form),
    SecretRule("a Telegram token", r"\b\d{8,10}:(AA[A-Za-z0-9_-]{33})\b", _is_form, least_entropy=3.5),
    SecretRule("a Mailgun key", r"\bkey-([0-9a-f]{32})\b"),
    SecretRule("a Mailchimp key", r"\b([0-9a-f]{32})-us\d{1,2}\b"),
    SecretRule("a Supabase token", r"\bsb[ps]_(?:[a-z]+_)?([0-9a-zA-Z_]{36,50})\b", least_entropy=3.0),
    SecretRule("a Figma token", r"\bfig[duoh]_([A-Za-z0-9_-]{38,44})\b", _is_form, least_entropy=3.5),
    SecretRule("an Atlassian token", r"\bATATT3([A-Za-z0-9_\-=]{100,250})", _is_form, least_entropy=4.0),
    SecretRule(
        "a signed token (JWT)",
        r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{20,}\.([A-Za-z0-9_\-]{40,})",
        _is_form,
        least_entropy=4.0,
    ),
    SecretRule("a login in a URL", r"://[^\s/:@\"'<>`]{0,60}:([^\s/@\"'<>`]{6,100})@[A-Za-z0-9\[_$]", _is_url_password),
    SecretRule(
        "a login in a URL",
        r"://[^\s/:@\"'<>`]{0,60}:([^\s/@\"'<>`]{6,100})@[A-Za-z0-9\[_$]",
        _is_any_password,
        made_up=True,
    ),
    SecretRule(
        "a password in a command",
        r"(?i)\b(?:identified by|with password|set password)[ \t=]+'([^'\s]{6,100})'",
        is_password,
    ),
    SecretRule(
        "a password in a call",
        r"(?i)\b(?:auth|login|basicauth|basic_auth|credentials)\w{0,20}[ \t]*[=(][ \t(]{0,3}[\"'][^\"'\s]{1,60}[\"']"
        r",[ \t]*[\"']([^\"'\s]{8,100})[\"']",
        made_up=True,
    ),
    # Slashes are counted, because the pattern would itself be taken for such a URL.
    SecretRule("a token in a URL", r"https?:/{2}([A-Za-z0-9_-]{20,100})(?::[A-Za-z0-9_-]{0,30})?@[A-Za-z0-9]"),
    SecretRule(
        "a login in a header",
        r"(?i)authorization[\"'\]]{0,2}[ \t]*[:,=][=> \t]{0,4}[\"'`]?basic[ \t]+([A-Za-z0-9+/]{8,}={0,2})",
        _is_login,
    ),
    SecretRule(
        "a token in a header",
        r"(?i)(?:authorization[\"'\]]{0,2}[ \t]*[:,=][=> \t]{0,4}[\"'`]?(?:bearer|token|apikey)|[\"'`]bearer)"
        r"[ \t]+([\w.~+/=-]{20,})",
    ),
    SecretRule(
        "a key in a header",
        r"(?i)\bx-[a-z-]{0,20}(?:key|token|secret)[\"'\]]{0,2}[ \t]*[:,=][=> \t]{0,4}[\"'`]?([\w.~+/=-]{16,})",
    ),
    SecretRule(
        "a password in a command",
        r"\bcurl[ \t][^\n]{0,200}?(?:-[A-Za-z]{0,6}u|--user)[ =]?[\"']?[\w.@-]{1,60}:([^\s\"':]{6,100})",
        is_password,
        paths=_SHELL,
    ),
    SecretRule(
        "a password in a command",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass)[ \t][^\n]{0,120}?-p[ \t]{0,1}[\"']?([^\s\"']{6,100})",
        is_password,
        paths=_SHELL,
    ),
    SecretRule("a password in a command", r"--password[ =][\"']?([^\s\"']{6,100})", is_password, paths=_SHELL),
    SecretRule(
        "a password in a connection string",
        r"(?im)(?:^|[;&?\"'])[ \t]*(?:password|pwd|accountkey|sharedaccesskey)[ \t]*=[ \t]*"
        r"([^;\s\"']{6,200})(?:;|[\"'\s]|$)",
        _is_url_password,
    ),
    SecretRule(
        "a password in a login file",
        r"(?:\bmachine|\blogin)[ \t]+\S{1,100}\s+(?:login[ \t]+\S{1,100}\s+)?password[ \t]+([^\s]{6,100})",
        is_password,
    ),
    SecretRule(
        "a password in markup",
        r"(?i)<[\w.:-]{0,40}" + _NAME + r"[\w.-]{0,20}(?:[ \t][^>]{0,100})?>\s{0,4}([^<>\s]{8,200})\s{0,4}</",
        made_up=True,
    ),
    SecretRule(
        "a password in markup",
        r"(?i)key=[\"'][\w.:-]{0,40}" + _NAME + r"[\w.-]{0,20}[\"'][ \t]+value=[\"']([^\"'\s]{8,200})[\"']",
        made_up=True,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?i)" + _NAME + _REST + _SIGN + r"@?(?:[bruf]?\\?[\"'`])(" + _VALUE + r"{8,400}?)\\?[\"'`]",
        made_up=True,
    ),
    # A value that is simply called a password need not look random.
    SecretRule(
        "a password in plain text",
        r"(?i)passw(?:or)?d\\?[\"'`]?\]?[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}\\?[\"'`]([^\s\"'`]{8,100}?)\\?[\"'`]",
        is_password,
        made_up=True,
    ),
    SecretRule(
        "a password in markup",
        r"(?i)(?:key|name|id)=[\"'][\w.-]{0,40}"
        + _NAME
        + r"[\w.-]{0,20}[\"'][^<>]{0,60}>\s{0,4}([^<>\s]{8,200})\s{0,4}<",
        made_up=True,
    ),
    SecretRule(
        "a password in a setting",
        r"(?im)^[ \t]*(?:(?:requirepass|masterauth|passwd|secret|token)[ \t]|[\w.-]{0,40}password[ \t]?[:= ])[ \t]*"
        r"([^\s\"']{8,200})[ \t]*$",
        is_password,
        made_up=True,
        paths=_BARE,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?i)#[ \t]*define[ \t]+\w{0,40}" + _NAME + r"\w{0,20}[ \t]+\"([^\s\"]{8,400})\"",
        made_up=True,
    ),
    # A variable as an object with name and value: `- name: DB_PASSWORD`, `value: ...` in the environment of a
    # container.
    SecretRule(
        "a password or key in plain text",
        r"(?i)\b(?:name|key)[\"']?\s{0,2}[:=]\s{0,4}[\"']?[\w.-]{0,40}"
        + _NAME
        + r"[\w.-]{0,20}[\"']?[,;]?\s{0,40}[\"']?value[\"']?"
        r"\s{0,2}[:=]\s{0,4}[\"']?([^\s\"'`,;}]{8,400})",
        made_up=True,
    ),
    # No language assigns an unquoted word to a name in capitals in this way, so this is a shell variable in any file.
    SecretRule(
        "a password or key in plain text",
        r"(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|PWD|SECRET|TOKEN|_KEY|_PAT|CREDENTIALS?)[A-Z0-9_]{0,20}=([^\s\"'`;&|<>]{8,400})",
        made_up=True,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?im)^[ \t]{0,40}(?://|#|--|;|\*|REM )[^\n]{0,40}?"
        + _NAME
        + r"[\w.-]{0,20}[ \t]?[:=][ \t]?([^\s\"'`,;]{8,400})[ \t]*$",
        made_up=True,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?im)" + _NAME + r"[\w.-]{0,20}[\"']?[ \t]*(?:[:?]?[=:])[ \t]*([^\s\"'`,;]{8,400})[ \t]*(?:[;#\\\s]|$)",
        made_up=True,
        paths=_BARE,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?im)^[ \t]*(?:ENV|ARG)[ \t]+[\w.-]{0,40}" + _NAME + r"[\w.-]{0,20}[ \t=]+([^\s\"'`]{8,400})[ \t]*(?:\s|$)",
        made_up=True,
        paths=re.compile(r"(?i)(?:dockerfile|containerfile)[^/]*$"),
    ),
)

# Names that contain one of the words but hold no secret.
NO_SECRET_NAME = re.compile(
    r"(?i)pub(?:lic)?[_.-]?key|publishable|csrf|xsrf|integrity|checksum|digest|fingerprint|token[_.-]?(?:type|ur[il]|endpoint)"
    r"|(?:secret|key|token|credential|password)s?[_.-]?(?:name|id|path|file|ref|type|url|uri|size|length|field|version)\b|(?:site|cache)[_.-]?key"
)
TEST_PATH = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures?|examples?|mocks?|docs?)/"
    r"|(?:^|/)(?:test_|conftest)[^/]*$|[._](?:test|spec)s?\.[^./]+$"
)
