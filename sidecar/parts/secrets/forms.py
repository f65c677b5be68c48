"""Rules about keys and hashes that have a form of their own, beside those of `data/gitleaks.json`.

Each form is from the public description of the service or of the hash.
"""

from __future__ import annotations

import re
from base64 import b64decode

from sidecar.parts.secrets.judge import is_spread, share_of_word_pairs
from sidecar.parts.secrets.rule import SecretRule, is_form

_DIGIT = re.compile(r"\d")
_HEX = re.compile(r"[0-9a-fA-F-]+")


def _is_key(value: str) -> bool:
    """Whether what follows a service's prefix is spread like a key, and no placeholder."""
    if not is_form(value) or not is_spread(value) or not _DIGIT.search(value):
        return False
    return bool(_HEX.fullmatch(value)) or share_of_word_pairs(value) < 0.6


def _is_encoded_key(value: str) -> bool:
    """Whether base64 text begins like the text of a private key, and not of a certificate."""
    return b"PRIVATE KEY" in b64decode(value[:64])


# Prefixes of services, by what follows them.
_HEX_KEYS = (
    r"sk-or-v1-|lsv2_(?:pt|sk)_|EZ[AT]K|shippo_(?:live|test)_|sqp_|squ_|sqa_|sntryu_|bku[as]_|sgp_|scw_|xkeysib-"
    r"|mlsn\.|pat-(?:na|eu)\d-"
    r"|PMAK-|access-(?:production|development|sandbox)-|key-|sbp_|aio_|CCIPAT_[A-Za-z0-9]{10,30}_"
    r"|FLWSECK(?:_TEST)?-|tk-us-|pat[A-Za-z0-9]{14}\."
)
_MIXED_KEYS = (
    r"gsk_|r8_|pplx-|xai-|nvapi-|fw_|pcsk_[A-Za-z0-9]{4,8}_|csk-|jina_|voy?-|FlyV1[ _]fm[12][a-z]?_|fo1_|nfp_"
    r"|tskey-(?:auth|api|client)-|rnd_|sb_secret_"
    r"|CFPAT-|dt0c01\.[A-Z0-9]{24}\.|glc_|ops_eyJ|rzp_(?:live|test)_|duffel_(?:live|test)_|sq0(?:csp|atp|idp)-"
    r"|dckr_(?:pat|oat)_|AKCp\d?|cmVmd|sntrys_eyJ"
    r"|ATCTT3|ATATT3|phx_|phc_|cio|tfp_|re_[A-Za-z0-9]{6,10}_|secret_|ntn_|figd_|EAAC|AKID|LTAI|AQVN|y[0-3]_|t1\.9"
    r"|LTAI5t|apify_api_|pk_live_|sk_(?:live|test|prod)_"
    r"|rk_(?:live|test)_|whsec_|ghp_|gho_|ghs_|glpat-|gldt-|glrt-|glft-|glsoat-|npm_|hvs\.|hvb\.|dp\.(?:pt|st|ct|sa"
    r"|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?|dapi|shpat_|hf_|pul-|rubygems_"
    r"|ion_|ory_(?:at|rt|st)_|lin_(?:api|oauth)_|sl\.|oy2|NRAK-|NRII-|xoxe\.xox[bp]-\d-|sha_|do[op]_v1_|dor_v1_"
    r"|ddp_|clojars_|CLOJARS_|pscale_(?:tkn|pw|oauth)_|cfut_|cfat_|vercel_|vc[kpt]_|upstash_"
)

FORMS: tuple[SecretRule, ...] = (
    SecretRule(
        "a service's key",
        r"\b(?:" + _HEX_KEYS + r")([0-9a-fA-F]{24,}(?:[-_][0-9a-zA-Z]{10,})?"
        r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b",
        _is_key,
    ),
    SecretRule(
        "a service's key",
        r"\b(?:" + _MIXED_KEYS + r")([A-Za-z0-9_+/-]{20,}={0,2}(?:[._][A-Za-z0-9_-]{10,})?)",
        _is_key,
    ),
    SecretRule(
        "a service's key",
        r"\b(?:rzp_(?:live|test)_([A-Za-z0-9]{14})|sk-([a-f0-9]{32})|LTAI5t([A-Za-z0-9]{18}))\b",
        _is_key,
    ),
    SecretRule(
        "a webhook",
        r"(?:\.webhook\.office\.com/webhookb2/[^\s\"'/]{30,}/IncomingWebhook/|hooks\.zapier\.com/hooks/catch/\d+/"
        r"|maker\.ifttt\.com/trigger/[\w-]+/(?:json/)?with/key/"
        r"|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]+/[A-Z0-9]+/"
        r"|chat\.googleapis\.com/v1/spaces/[\w-]+/messages\?key="
        r"|outlook\.office\.com/webhook/[^\s\"'/]{30,}/IncomingWebhook/)"
        r"([^\s\"'<>`]{6,200})",
        is_form,
    ),
    SecretRule(
        "a hash of a password",
        r"(\$(?:2[abxy]?|1|5|6|7|y|gy|apr1|sha1|md5|P|H|S|argon2(?:id|i|d)|scrypt|pbkdf2(?:-[\w-]+)?|bcrypt-sha256"
        r"|NT)\$[\w./+=,$-]{22,})"
        r"|(\$[PHS]\$[\w./]{28,})",
        is_spread,
        made_up=True,
    ),
    SecretRule(
        "a hash of a password",
        r"\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT|PBKDF2[\w-]*|ARGON2)\}([\w./+=$-]{20,})"
        r"|\b((?:pbkdf2_sha\d+\$|pbkdf2:sha\d+:|scrypt:\d+:\d+:\d\$|bcrypt_sha256\$|scrypt:\d+:\d+:\d)[\w./+=$:-]{22,})"
        r"|\b(SCRAM-SHA-(?:1|256|512)\$\d+:[\w./+=$:-]{40,})",
        is_form,
        made_up=True,
    ),
    SecretRule(
        "a hash of a password",
        r"(?i)(?:password|identified by|passwd)[ \t=:]{1,4}[\"'](md5[0-9a-f]{32}|\*[0-9a-f]{40})[\"']"
        r"|(?m)^\"[\w.-]+\" \"(md5[0-9a-f]{32}|\*[0-9A-F]{40}|SCRAM[^\"]+)\"",
        is_form,
    ),
    SecretRule("a key of a store", r"(?i)\b\w{0,20}key[ \t]*[:=][ \t]*[\"']?((?-i:AQ)[A-Za-z0-9+/]{36}==)", is_form),
    SecretRule("a private key", r"\b(LS0tLS1CRUdJTi[A-Za-z0-9+/]{60,}={0,2})", _is_encoded_key),
)
