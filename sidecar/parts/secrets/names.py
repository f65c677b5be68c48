"""Recognises files that hold secrets by their name. Such a file is withheld whole and never opened.

`rules` judges the text of all other files.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase, translate

_ALLOWED_SUFFIXES = (".example", ".sample", ".template", ".dist", ".defaults", ".tmpl", ".d.ts")

_NAMES: tuple[tuple[str, str], ...] = (
    # (glob over the lower-case name, what such a file holds)
    (".env", "environment file"),
    (".env.*", "environment file"),
    ("*.env", "environment file"),
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
    ("netrc", "logins"),
    (".pgpass", "logins"),
    (".my.cnf", "logins"),
    (".git-credentials", "logins"),
    (".htpasswd", "password hashes"),
    (".dockercfg", "registry logins"),
    (".dockerconfigjson", "registry logins"),
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


# `example.env` is judged by its content, as `.env.example` is.
# A certificate is public; a key in the same file is found by its content.
_ALLOWED_NAMES = re.compile(
    r"(?:^|[._-])(?:example|sample|template|dist|defaults?)\.env$"
    r"|(?:^|[._-])(?:certs?|certificates?|ca|cacerts?|(?:full)?chain|pub|public)\.pem$"
)
_ANY_NAME = re.compile("|".join(translate(glob) for glob, _ in _NAMES))
_ANY_PATH = re.compile("|".join(f"(?:.*/)?{translate(glob)}" for glob, _ in _PATHS))


def secret_name(path: str) -> str | None:
    """Returns why a file is withheld because of its name alone; None if it is not. `.env.example`, for one, is judged
    by its content."""
    lowered = path.lower()
    name = lowered.rsplit("/", 1)[-1]
    if not (_ANY_NAME.match(name) or _ANY_PATH.match(lowered)) or name.endswith(_ALLOWED_SUFFIXES):
        return None
    if _ALLOWED_NAMES.search(name):
        return None
    for glob, meaning in _NAMES:
        if fnmatchcase(name, glob):
            return f"{glob} ({meaning})"
    for glob, meaning in _PATHS:
        if fnmatchcase(lowered, glob) or fnmatchcase(lowered, f"*/{glob}"):
            return f"{glob} ({meaning})"
    return None
