"""Signs team snapshots with Ed25519 and checks signatures. The signed text contains the SHA-256 that names the file."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar import shown
from sidecar.errors import ConfigInvalid, SnapshotUnusable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_ABOUT = "sidecar snapshot "


def sign(sha256: str, key_file: Path) -> str:
    """Returns the signature of the snapshot with this hash, in base64. `key_file` contains an Ed25519 private key in
    PEM, without a password. Raises ConfigInvalid."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(key_file.read_bytes(), None)
    except OSError as error:
        raise ConfigInvalid(f"The key {shown.place(key_file)} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _no_key(shown.place(key_file)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(shown.place(key_file))
    return base64.b64encode(key.sign(_signed(sha256))).decode()


def check(sha256: str, signature: str, public_key: str) -> None:
    """Raises SnapshotUnusable unless the holder of the private key has signed the snapshot with this hash.

    `public_key` is the key in DER and base64, as in a PEM file. Raises ConfigInvalid if it is not such a key.
    """
    from cryptography.exceptions import InvalidSignature

    key = _public(public_key)
    if not signature:
        raise SnapshotUnusable("It is not signed, and the setting snapshotKey asks for a signature.")
    try:
        key.verify(base64.b64decode(signature, validate=True), _signed(sha256))
    except (InvalidSignature, binascii.Error, ValueError) as error:
        raise SnapshotUnusable("Its signature is not that of the key in the setting snapshotKey.") from error


def _public(text: str) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        key = load_der_public_key(base64.b64decode("".join(text.split()), validate=True))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key("The setting snapshotKey") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key("The setting snapshotKey")
    return key


def _no_key(where: str) -> ConfigInvalid:
    return ConfigInvalid(
        f"{where} holds no Ed25519 key. Make one with: openssl genpkey -algorithm ed25519 -out key.pem; the setting"
        " snapshotKey is what this prints: openssl pkey -in key.pem -pubout -outform DER | base64"
    )


def _signed(sha256: str) -> bytes:
    return f"{_ABOUT}{sha256}\n".encode("ascii", "backslashreplace")
