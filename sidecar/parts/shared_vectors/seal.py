"""Names and seals vectors, so that only someone with the team's key and the very text can ask for a vector or read it.

The name is an HMAC of the model and the text, with a key derived from the team's key. Without that key nobody can find
out whether the vector of a text is stored. The value is sealed (AES-256-GCM) with a key derived from the team's key and
the text. Without the text nobody can read its vector, not even someone who knows its name. Both use other hashes of the
text than the one in indexes and snapshots.
"""

from __future__ import annotations

import hashlib
import hmac
import os

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

NAME_BYTES = 16
_FORMAT = b"\x01"
_NONCE_BYTES, _TAG_BYTES, _KEY_BYTES = 12, 16, 32
_WRONG_LENGTH = 0.02
"""How much the length of a vector that was rounded to float16 may differ from 1."""


class Seal:
    """Names and seals the vectors of one model, with a team's key."""

    def __init__(self, team_key: str, model_id: str, dimension: int) -> None:
        both = HKDF(SHA256(), 2 * _KEY_BYTES, salt=None, info=b"sidecar shared vectors 1").derive(team_key.encode())
        self._name_key, self._seal_key = both[:_KEY_BYTES], both[_KEY_BYTES:]
        self._model = model_id.encode()
        self._dimension = dimension

    @property
    def size(self) -> int:
        """The number of bytes of a sealed vector."""
        return len(_FORMAT) + _NONCE_BYTES + 2 * self._dimension + _TAG_BYTES

    def name(self, text: str) -> bytes:
        """Returns the name of a text's vector, `NAME_BYTES` long."""
        return hmac.digest(self._name_key, self._model + b"\0" + _digest(b"name", text), "sha256")[:NAME_BYTES]

    def close(self, text: str, vector: NDArray[np.float32]) -> bytes:
        """Seals the vector of a text, shape [dimension]. Returns `size` bytes."""
        nonce = os.urandom(_NONCE_BYTES)
        plain = vector.astype("<f2").tobytes()
        return _FORMAT + nonce + self._cipher(text).encrypt(nonce, plain, self.name(text))

    def open(self, text: str, sealed: bytes) -> NDArray[np.float32] | None:
        """Returns the vector, shape [dimension]; None if these bytes were not sealed for this text with this key."""
        if len(sealed) != self.size or not sealed.startswith(_FORMAT):
            return None
        start = len(_FORMAT) + _NONCE_BYTES
        try:
            plain = self._cipher(text).decrypt(sealed[len(_FORMAT) : start], sealed[start:], self.name(text))
        except InvalidTag:
            return None
        vector = np.frombuffer(plain, "<f2").astype(np.float32)
        return vector if abs(float(np.linalg.norm(vector)) - 1.0) < _WRONG_LENGTH else None

    def _cipher(self, text: str) -> AESGCM:
        made = HKDF(SHA256(), _KEY_BYTES, salt=_digest(b"seal", text), info=self._model)
        return AESGCM(made.derive(self._seal_key))


def _digest(purpose: bytes, text: str) -> bytes:
    return hashlib.sha256(purpose + b"\0" + text.encode("utf-8", "surrogatepass")).digest()
