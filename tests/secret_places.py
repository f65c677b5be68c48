"""Made-up secrets in the places that four text files list, `secret_places_first.txt` and the same with `later`, `third`
and `fourth`.

Each file was written before anybody looked at how the rules treat its places, so the first measurement of each showed
what the rules did with places that they were not made for. A file has a section `=== kind | values` for each kind and
in it a form `--- path` for each place; in a form, `@@` is the secret, `%U` a user, `%H` a host, `%D` a word.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.secret_samples import (
    ALNUM,
    BASE64,
    BECH32,
    DIGITS,
    HEX,
    LOWER,
    UPPER,
    URLSAFE,
    Sample,
    Value,
    mixed,
    run,
    signed,
    uuid,
)

SETS = ("first", "later", "third", "fourth")
BARE, QUOTED, IN_URL, IN_XML = "!*-_+=.~%@^", "!@#%^&*-_+=.~?:", "-_.~!*", "!@#%^*-_+=.~?:"
ALPHABETS = {
    "a": ALNUM,
    "h": HEX,
    "H": DIGITS + "ABCDEF",
    "u": URLSAFE,
    "b": BASE64,
    "d": DIGITS,
    "U": UPPER + DIGITS,
    "l": LOWER + DIGITS,
    "x": ALNUM + "./",
    "B": UPPER + "234567",
    "q": BECH32,
}
WORDS = (
    "winter purple otter sunny copper meadow falcon silver maple ginger rocket thunder velvet breeze cobalt walnut"
    " harbor summit dragon coffee monkey orange banana castle bridge tulip lemon planet guitar pepper"
).split()
USERS = "app root svc-ci deploy admin reporter robot sync backend mona jdoe".split()
HOSTS = "db.corp.net 10.0.4.17 mq.prod.corp.net cache01 mail.corp.net localhost gate.acme.io".split()
NAMES = "orders billing shop inventory crm wiki metrics office fleet".split()


def password(rng: random.Random, marks: str) -> str:
    """A password as people and generators make it; `marks` may occur in it."""
    kind = rng.choice(["words", "words", "words", "short", "short", "marks", "marks", "marks", "hex", "base64", "uuid"])
    if kind == "words":
        chosen = rng.sample(WORDS, 2)
        cased = [word.capitalize() for word in chosen] if rng.random() < 0.6 else chosen
        mark = rng.choice(["", "", "-", "_", "."])
        end = rng.choice(["!", ""]) if "!" in marks else ""
        return mark.join(cased) + rng.choice(["", mark]) + run(rng, DIGITS, rng.randint(2, 4)) + end
    if kind == "short":
        return mixed(rng, ALNUM, 8)
    if kind == "marks" and marks:
        while True:
            value = mixed(rng, ALNUM + marks * 2, rng.randint(8, 18))
            if value[0] not in "-=!@%*&~" and any(mark in value for mark in marks):
                return value
    if kind == "hex":
        return run(rng, HEX, 32)
    if kind == "base64":
        return run(rng, BASE64 if "+" in marks and "=" in marks else ALNUM, 24)
    return uuid(rng) if kind == "uuid" and marks else mixed(rng, ALNUM, rng.randint(10, 20))


def token(rng: random.Random) -> str:
    return rng.choice([run(rng, HEX, 32), run(rng, ALNUM, 40), run(rng, HEX, 40), mixed(rng, ALNUM, 24), uuid(rng)])


def pem(rng: random.Random, newline: str) -> str:
    kind = rng.choice(["RSA ", "EC ", ""])
    lines = [run(rng, BASE64, 64) for _ in range(rng.randint(3, 20))]
    head, tail = f"-----BEGIN {kind}PRIVATE " + "KEY-----", f"-----END {kind}PRIVATE KEY-----"
    return newline.join([head, *lines, tail, ""])


def from_pattern(pattern: str, rng: random.Random) -> str:
    return re.sub(r"\{([a-zA-Z]):(\d+)\}", lambda found: run(rng, ALPHABETS[found[1]], int(found[2])), pattern)


_MAKERS: dict[str, Value] = {
    "token": token,
    "jwt": signed,
    "url43": lambda rng: run(rng, URLSAFE, 43),
    "login": lambda rng: base64.b64encode(f"{rng.choice(USERS)}:{password(rng, BARE)}".encode()).decode(),
    "phrase": lambda rng: " ".join(rng.sample(WORDS, 12)),
}


def value(kind: str, rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """A secret, and its parts of which none may stay."""
    name, _, patterns = kind.partition(":")
    if name == "vendor":
        made = from_pattern(rng.choice(patterns.split()), rng)
        return made, (made[-max(5, len(made) * 2 // 5) :].removesuffix("%3D"),)
    if name in ("pem", "base64pem"):
        made = pem(rng, "\\n" if name == "pem" else "\n")
        if name == "pem":
            return made, tuple(made.split("\\n")[1:-2])
        made = base64.b64encode(made.encode()).decode()
        return made, (made[len(made) // 2 :],)
    marks = {"quoted": QUOTED, "bare": BARE, "url": IN_URL, "xml": IN_XML, "alnum": ""}
    if name in marks:
        made = password(rng, marks[name])
    elif name == "base64":
        made = rng.choice([base64.b64encode(password(rng, BARE).encode()).decode(), run(rng, BASE64, 43) + "="])
    else:
        made = _MAKERS[name](rng)
    most = max(5, len(made) * 3 // 5)
    return made, (made[:most], made[-most:])


@cache
def places(which: str) -> dict[str, tuple[str, tuple[tuple[str, str], ...]]]:
    """Kind of value and forms (path, text) of each kind of place in a set."""
    text = (Path(__file__).parent / f"secret_places_{which}.txt").read_text()
    found = {}
    for section in re.split(r"^=== ", text, flags=re.M)[1:]:
        head, *forms = re.split(r"^--- ", section, flags=re.M)
        kind, _, values = head.strip().partition(" | ")
        found[kind] = values, tuple((path, body) for path, body in (form.split("\n", 1) for form in forms))
    return found


def place_samples(which: str, kind: str, count: int, seed: int = 1) -> Iterator[Sample]:
    """`count` samples of a kind, each time the same ones; each form comes in its turn."""
    rng = random.Random(f"{which} {kind} {seed}")
    values, forms = places(which)[kind]
    for number in range(count):
        path, text = forms[number % len(forms)]
        secret, fragments = value(values, rng)
        for mark, choices in (("%U", USERS), ("%H", HOSTS), ("%D", NAMES)):
            text = text.replace(mark, rng.choice(choices))
        yield Sample(kind, path, path, text.replace("@@", secret), fragments)
