"""What is withheld, and what only looks like it. Tokens are put together here so that no file holds one."""

from __future__ import annotations

import base64
import hashlib
import random
import string

import pytest

from sidecar.parts.secrets import find_secret, secret_name

LETTERS = string.ascii_letters + string.digits


def noise(length: int, alphabet: str = LETTERS, seed: int = 3) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


def private_key(kind: str = "RSA ", extra: str = "") -> str:
    body = base64.b64encode(hashlib.sha512(b"a").digest() * 4).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {kind}PRIVATE " + f"KEY-----\n{extra}{lines}\n-----END {kind}PRIVATE KEY-----\n"


TOKENS = {
    "AWS access key": "AKIA" + noise(16, string.ascii_uppercase + "234567"),
    "GitHub": "ghp_" + noise(36),
    "GitHub fine-grained": "github_pat_" + noise(22) + "_" + noise(59),
    "GitLab": "glpat-" + noise(20),
    "Slack": "xoxb-" + noise(12, string.digits) + "-" + noise(24),
    "Slack webhook": "https://hooks.slack.com/services/T"
    + noise(8, "ABC123")
    + "/B"
    + noise(8, "DEF456")
    + "/"
    + noise(24),
    "Stripe": "sk_live_" + noise(24),
    "Google": "AIza" + noise(35),
    "Anthropic": "sk-ant-" + "api03-" + noise(93),
    "OpenAI": "sk-proj-" + noise(60),
    "npm": "npm_" + noise(36),
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + noise(80),
    "Hugging Face": "hf_" + noise(34, string.ascii_letters),
    "JWT": "eyJhbGciOiJIUzI1NiJ9" + ".eyJ" + noise(60) + "." + noise(43),
    "URL": "postgres://admin:" + "q7Zk2mV9xT4w" + "@db.internal.net/app",
}


@pytest.mark.parametrize("kind", list(TOKENS))
def test_a_token_withholds_the_file_and_is_never_repeated(kind: str) -> None:
    reason = find_secret("src/app.py", f"import os\n\nvalue = '{TOKENS[kind]}'\n")
    assert reason is not None
    assert reason.startswith("line 3: ")
    assert TOKENS[kind][8:] not in reason


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
def test_a_private_key_withholds_the_file(kind: str) -> None:
    assert find_secret("a.txt", "x\n" + private_key(kind)) == "line 2: a private key"


def test_a_private_key_is_seen_in_a_string_with_escapes_and_behind_headers() -> None:
    assert find_secret("a.json", private_key().replace("\n", "\\n"))
    assert find_secret("a.txt", private_key(extra="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n"))


@pytest.mark.parametrize(
    "text",
    [
        'password = "' + "q7Zk2mV9" + 'xT4wLp0R"',
        '  "client_secret": "' + "q7Zk2mV9" + 'xT4wLp0R",',
        "const API_KEY = '" + "q7Zk2mV9" + "xT4wLp0R';",
        'AWS_SECRET_ACCESS_KEY = "' + noise(40) + '"',
    ],
)
def test_a_random_password_in_plain_text_withholds_the_file(text: str) -> None:
    assert find_secret("src/settings.py", text) == "line 1: a password or key in plain text"
    assert find_secret("tests/settings.py", text) is None


def test_configuration_needs_no_quotes() -> None:
    line = "db.password=" + "q7Zk2mV9" + "xT4wLp0R\n"
    assert find_secret("app.properties", "# x\n" + line)
    assert find_secret(".env.example", line)
    assert find_secret("app.py", line) is None


@pytest.mark.parametrize(
    "text",
    [
        "if line.startswith('-----BEGIN RSA PRIVATE " + "KEY-----'):\n    return True\n",
        r"re.compile(r'AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}|sk-ant-[a-z0-9-]{80,}')",
        "key = 'AKIA" + "IOSFODNN7EXAMPLE'",
        "secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY'",
        "token = 'ghp_" + "x" * 36 + "'",
        "token = 'ghp_" + "a1" * 18 + "'",
        'password = "correct-horse-battery-staple"',
        'password = "${DB_PASSWORD_FROM_VAULT}"',
        'api_key = "YOUR_API_KEY_GOES_HERE_123"',
        'secret_key = get_secret("projects/a1B2/secrets/C3d4")',
        'token: "https://Auth.example.com/v2/Token99"',
        "url = 'postgres://user:password@localhost.example.com/db'",
        "url = 'https://user:${PASSWORD}@host.example.com'",
        "//registry.npmjs.org/:_authToken=${NPM_TOKEN}",
        (
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ"
            ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
        ),
        "sha = 'risk_live_" + noise(24) + "'",
        "password: str = field(default_factory=lambda: generate_password(length=16))",
    ],
)
def test_mentions_patterns_placeholders_and_samples_are_not_secrets(text: str) -> None:
    assert find_secret("src/scanner.py", text) is None


def test_an_npmrc_is_withheld_for_its_token_alone() -> None:
    assert find_secret(".npmrc", "save-exact=true\n") is None
    assert find_secret(".npmrc", "//registry.npmjs.org/:_authToken=" + noise(36) + "\n")


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "deep/down/.env.production",
        "A.PEM",
        "tls/server.key",
        "x.p12",
        "id_rsa",
        "home/.ssh/id_ed25519",
        ".netrc",
        ".pgpass",
        "android/release.keystore",
        "kubeconfig",
        ".aws/credentials",
        "x/.docker/config.json",
        "credentials.json",
    ],
)
def test_names_that_withhold(path: str) -> None:
    assert secret_name(path)
    assert (find_secret(path, "harmless") or "").startswith("by name: ")


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "sub/.env.sample",
        ".env.template",
        "id_rsa.pub",
        "environment.py",
        "keys.py",
        "src/credentials.py",
    ],
)
def test_names_that_do_not_withhold(path: str) -> None:
    assert secret_name(path) is None
    assert find_secret(path, "NAME=value\n") is None


def test_our_own_sources_are_not_withheld() -> None:
    from pathlib import Path

    root = Path(__file__).parents[2]
    sources = [*root.glob("sidecar/**/*.py"), *root.glob("tests/parts/*.py")]
    assert len(sources) > 10
    withheld = {path.name: find_secret(path.as_posix().removeprefix(f"{root}/"), path.read_text()) for path in sources}
    assert {name: reason for name, reason in withheld.items() if reason} == {}
