"""Judges whether a value is a password or a login, for places where one is expected.

`judge` asks whether a value looks random. A password need not: here it is enough that the value is no placeholder, no
reference, no code and no name of something.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from urllib.parse import unquote

from sidecar.parts.secrets.judge import entropy, is_placeholder, looks_random, share_of_word_pairs

# Words that people write in place of a password; a single word usually is one.
_EXPLAINING = re.compile(
    r"(?i)(?:my|the|some|secret|super)?[_-]?(?:pass(?:w(?:or)?d|phrase)?|pwd|pw|secret|token|user(?:name)?|admin"
    r"|root|login"
    r"|guest|default|api[_-]?key|oauth2?|x-oauth-basic|postgres|mysql|docker|git|hello|world|foo|bar|baz|none|null)"
    r"(?:[_-]?(?:pass(?:word)?|here|value|token|key))?[\d!_-]{0,4}|[a-z_]+|\d+|:.*"
)
# A value that consists of such words describes a secret, a field or its kind: `currentPassword1`, `admin_user_2`.
_DESCRIBING = frozenset(
    "a access account admin api app apps auth basic bearer button change client code confirm confirmation"
    " cookie cred credential credentials current custom data db default demo docker error field fields"
    " file foo bar baz form from group guest hash header hello host hook id in input is item key keys"
    " label length link login max me message method min mode model module my mysql name new no none not"
    " null number oauth old param pass passphrase passwd password passwords path plain postgres prefix"
    " private property provider public pw pwd refresh repeat request required reset result root rule salt"
    " sample scheme secret secrets service session set setting some sso state step store string stub"
    " suffix system test text the title to token tokens type unset update url user username users v"
    " validation value values variable version view with world your".split()
)
# Names of things that run or are stored have such words and a number: `prod-db-01`, `wildcard-tls-22`.
_NAMING = _DESCRIBING | frozenset(
    "agent api aws az azure backend backup bucket build ca cache cert certificate certs cluster cm config creds"
    " cursor dev east ecr eu frontend gcp helm host image ingress item job k8s kafka kube letsencrypt mongo node"
    " north ns page part pg pod prod production pull qa rabbitmq rds redis region registry release role s3 sa sandbox"
    " server shared shard sidecar south sql ssl ssh stack stage staging stg storage store svc sync task tenant tls us"
    " vault vm volume web west wildcard worker zone".split()
)
_SENTENCE = frozenset("and are but for from has its not the their them they was which with your".split())
_ALGORITHM = re.compile(
    r"(?i)(?:[a-z]{1,8}[-_.:/]){0,3}(?:s{0,2}sha-?\d|s?md[245]|aes|hs256|rs256|es256|base(?:16|32|58|64)|utf-?\d"
    r"|pbkdf2|bcrypt|scrypt|argon2|oauth2|x509|x25519"
    r"|ed25519|secp\d|p-?256|rsa|hmac|blake2|crc32|latin|iso|rfc\d)[\w/+:-]{0,16}"
)
_REFERENCE = re.compile(
    r"(?i)^[$%]\w|^[,;)\]}|]|^[!&*]\w+$|\$[({]|\{\{|\{\w*\}|<[^>]*>|://|^(?:\.{0,2}|~)/|^[\w.+-]+@[\w-]+\.[\w.]+$"
    r"|::|->|=>|\w\(\w*[)\"'.]|\(\)|\w\[\w*\]"
    r"|\w\.\w+\(|\.(?:json|ya?ml|xml|txt|pem|crt|cer|key|p12|jks|py|jsx?|tsx?|rb|go|java|html?|css|php|sh|conf|cfg"
    r"|env|png|svg"
    r"|md|com|net|org|io|local|internal)$|\benv[.(\[:]|process\.|\bsecrets?[./:]|vault[.:/]|\barn:|op://|file:"
    r"|enc\[|\*{3}|(?:^|[:/@ ])%[sdr]\b|^\(|\)$"
    r"|\\[nrtx]|^#\{|\[\[|^--|(?-i:^[a-z_]+=[\w\"'$])"
    # A package at a version: `next-auth@^4.24.11`.
    r"|^@?\w[\w./-]*@(?:[\^~<>=v]{0,2}\d+(?:\.[\dx*]+)+(?:[-+/][\w./+-]*)?|latest|next|canary)$"
)
_VERSION = re.compile(
    r"[\^~>=v]*\d+(?:[._:-]\d+)+(?:[-+._]?[A-Za-z]{1,8}[._-]?\d{0,4})?|v?\d+[A-Za-z]{0,3}|\d[\d.,:_ -]*(?:px|em|ms"
    r"|s|m|h|d|[KMG]i?B?)"
)
_LAST_DIGIT = re.compile(r"[A-Za-z]+(?:[_.:/-]+[A-Za-z]+)*[_.:/-]?\d|(?:[A-Za-z]+\d{0,2}[_.:/-]+)+[A-Za-z]+")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_KEBAB = re.compile(r"[a-z]+(?:[_.:/-][a-z0-9]+)*")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# What is made by a generator and is public: addresses of contracts and accounts, public keys (SSH, age, nix),
# fingerprints, checksums, names of pods, volumes and generated secrets of a cluster, and files.
_PUBLIC = re.compile(
    r"^(?:0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{43,44}|[0-9A-F]{40}|age1[0-9a-z]+|AAAA[BCEG][A-Za-z0-9+/]+={0,2})$"
    r"|-\d{1,3}:[A-Za-z0-9+/]{43}=$|^(?i:sha-?\d{1,3}|md5|blake\d\w?)[-:=_]"
    r"|-[0-9a-z]{8,10}-[0-9a-z]{5}(?:[-.]|$)|^pvc-|-[bcdfghkmt2456789]{10}$"
    r"|\.(?:gz|xz|bz2|zst|zip|tgz|tar|parquet|avro|csv|sql|log|bak|dat|bin|db|so|dll|exe|whl|jar|ttf|woff2?|jpe?g|gif"
    r"|webp)$"
)
_NUMBERED = re.compile(r"\d{0,8}+[A-Za-z]*+\d{0,8}+(?:[-_.:/]++\d{0,8}+[A-Za-z]*+\d{0,8}+)++")
_SHORT_CODE = re.compile(r"[0-9a-f]{1,15}|[0-9A-Z]{1,15}")
_MARK = re.compile(r"[A-Za-z0-9][^\sA-Za-z0-9._:/-][A-Za-z0-9]")


def is_login(value: str) -> bool:
    """Whether a value is `user:password` in base64, as in headers and in the files of Docker and npm, with a likely
    password.
    """
    login = _decoded(value)
    if login is None:
        return looks_random(value)
    user, colon, password = login.partition(":")
    return is_password(password if colon else user)


def is_called_login(value: str) -> bool:
    """Returns the same as `is_login`, with a password as in `is_called_password`. A login without user is none."""
    _, _, password = (_decoded(value) or "").partition(":")
    return is_called_password(password)


def is_password(value: str) -> bool:
    """Whether a value may be a password. Less strict than `looks_random`, for places where a password is expected.

    Ten characters with a letter and a digit are enough, unless they are a word with up to four digits at its end.
    """
    if is_placeholder(value) or len(value) < 8 or not re.search(r"[A-Za-z]", value) or not re.search(r"\d", value):
        return False
    return looks_random(value) or (len(value) >= 10 and not re.fullmatch(r"[A-Za-z_-]+\d{0,4}", value))


def is_url_password(value: str) -> bool:
    """Returns the same as `is_password`, for a value with percent-encoding."""
    return is_password(unquote(value))


def is_any_password(value: str) -> bool:
    """Whether a value may be a password, less strict than `is_password`, for places where nothing else can stand: it
    has at least six characters and is not a word that stands for a password.
    """
    plain = unquote(value)
    return not is_placeholder(plain) and not _EXPLAINING.fullmatch(plain) and len(plain) >= 6


def is_called_password(value: str) -> bool:
    """Whether a value that is called a password, or stands where one is expected, is one.

    Words and a number are enough (`winter-otter-42`), but not a word with one digit, and no words that describe a
    password.
    """
    if not _is_literal(value):
        return False
    has_digit, has_letter = re.search(r"\d", value), re.search(r"[A-Za-z]", value)
    if not has_letter:
        return False
    if not has_digit:
        return len(_MARK.findall(value)) >= 2 and share_of_word_pairs(value) < 0.6
    return not _LAST_DIGIT.fullmatch(value) or (len(value) >= 8 and share_of_word_pairs(value) < 0.5)


def is_called_url_password(value: str) -> bool:
    """Returns the same as `is_called_password`, for a value with percent-encoding."""
    return is_called_password(unquote(value))


def is_argument(value: str) -> bool:
    """Returns the same as `is_called_password`, for an argument of a call. It has at least seven characters."""
    return len(value) >= 7 and is_called_password(value)


def is_phrase(value: str) -> bool:
    """Whether words begin with the recovery phrase of a wallet: 12, 15, 18, 21 or 24 words (BIP 39), hardly any twice,
    and none that only a sentence has."""
    words = value.lower().split()
    phrases = (words[:length] for length in range(24, 11, -3) if len(words) >= length)
    return any(len(set(one)) >= 0.75 * len(one) and _SENTENCE.isdisjoint(one) for one in phrases)


def is_called_secret(value: str) -> bool:
    """Returns the same as `is_called_password`, for what is called a secret, a key or a token.

    Names of such things also have numbers (`db-creds-2`). So a value in small letters needs a random look, three
    digits at its end, or two after several words of which none is common in names.
    """
    if not is_called_password(value) or len(value) < 8:
        return False
    if not _KEBAB.fullmatch(value) or looks_random(value):
        return True
    digits = len(value) - len(value.rstrip("0123456789"))
    words = _PIECE.findall(value)
    return digits >= 3 or (digits == 2 and len(words) > 1 and not any(word in _NAMING for word in words))


def is_generated_secret(value: str) -> bool:
    """Whether a value that only its map or its statement calls a key or a token is one: it looks random or ends with a
    mark, and is neither public nor words with numbers between them (`raw_events_2024_q3_v2`)."""
    if not is_called_secret(value) or not (looks_random(value) or value[-1] in "!#$%^&*?"):
        return False
    if _PUBLIC.search(value) or _SHORT_CODE.fullmatch(value):
        return False
    return not _NUMBERED.fullmatch(value) or share_of_word_pairs(value) < 0.5


def is_encoded_password(value: str) -> bool:
    """Whether base64 text may be a secret: text with a password in it, or bytes that are no text."""
    try:
        decoded = b64decode(value, validate=True)
    except (Error, ValueError):
        return False
    try:
        text = decoded.decode()
    except ValueError:
        return len(decoded) >= 16 and entropy(value) >= 3
    if text.startswith("-----BEGIN") and "PRIVATE" not in text:
        return False
    return any(is_called_password(word) for word in re.split(r"[\s\"',;=]+|: ", text)[:50] if len(word) >= 6)


def _decoded(value: str) -> str | None:
    """Returns the text that a value is in base64, with or without padding; None if it is none."""
    try:
        return b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (Error, ValueError):
        return None


def _is_literal(value: str) -> bool:
    """Whether a value stands for itself, and does not describe or name something else."""
    if is_placeholder(value) or _REFERENCE.search(value) or _VERSION.fullmatch(value) or _ALGORITHM.fullmatch(value):
        return False
    if "/" in value and not (len(value) >= 16 and share_of_word_pairs(value) < 0.6 and value.count("/") < 5):
        return False
    if _DOTTED.fullmatch(value) and not re.search(r"\d\d$", value):
        return False
    return not _describes(value)


def _describes(value: str) -> bool:
    """Whether all words of a value describe a secret, with no mark and at most three digits beside them."""
    pieces = _PIECE.findall(value)
    if not pieces or any(piece.lower() not in _DESCRIBING for piece in pieces):
        return False
    return len(re.findall(r"\d", value)) <= 4 and not _MARK.search(value) and value[-1] not in "!#$%^&*?"
