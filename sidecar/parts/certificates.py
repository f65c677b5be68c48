"""Says why the certificate of a server was not accepted."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

_MOST_CAUSES = 8
# OpenSSL's codes (X509_V_ERR_...), which the module ssl does not name.
_NOT_YET_VALID, _EXPIRED = 9, 10
_OF_OTHER_HOSTS = (62, 64)
"""The certificate is for other names, or for other addresses."""


def refused_certificate(error: BaseException | None) -> str:
    """Returns why the certificate of a server was not accepted and what to do, as the end of a sentence, if that caused
    this error; else empty."""
    for _ in range(_MOST_CAUSES):
        if isinstance(error, ssl.SSLCertVerificationError):
            why = error.verify_message.rstrip(".")
            return f"its certificate was not accepted, so nothing was sent ({why}): {_advice(error.verify_code)}"
        error = error and (error.__cause__ or error.__context__)
    return ""


def _advice(code: int) -> str:
    if code in (_NOT_YET_VALID, _EXPIRED):
        clock = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"this machine's clock says {clock}, and if that is right, the server needs a new one"
    if code in _OF_OTHER_HOSTS:
        return "check the address"
    return "for an authority of your own, set SSL_CERT_FILE to the file with its certificate"
