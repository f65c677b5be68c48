"""Sidecar's own rules about secrets. Most recognise a secret by its place: after a name, in a URL, a header, a command
or a file of logins.

They also cover some keys with a form of their own; `forms` and `data/gitleaks.json` have the others. `logins` and
`lines` have the places where passwords stand that need not look random.
"""

from __future__ import annotations

import re

from sidecar.parts.secrets.passwords import is_any_password, is_called_login, is_login, is_password, is_url_password
from sidecar.parts.secrets.rule import BARE, NAME, REST, SHELL, SIGN, VALUE, SecretRule, is_block, is_form

_BASIC = (
    r"(?i)(?:authorization[\"'\]]{0,2}[ \t]*(?:[:,=][=> \t]{0,4})?[\"'`]?|authorization:\s{0,20}-[ \t]+[\"']?)"
    r"basic[ \t]+([A-Za-z0-9+/]{8,}={0,2})"
)

# A word in the name of a host that serves a block chain, and what ends it; then the providers that have no such word.
_CHAIN_HOST = (
    r"(?:(?:rpc|eth|ethereum|evm|web3|bsc|bnb|polygon|matic|solana|arbitrum|optimism|avalanche|avax|btc|bitcoin|mainnet"
    r"|testnet|devnet|sepolia|goerli|holesky|amoy)\d?[.-]|(?:nodes?|getblock|p2pify|quiknode|chainstack|nodereal|ankr"
    r"|alchemy|infura|blockpi|drpc)\.)"
)

RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "a private key",
        # A header alone is a mention; a key has base64 after it, possibly in a string with \n.
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n|[\s\"'+,])*"
        r"(?:[A-Za-z][A-Za-z-]{2,30}: [^\n\\]{1,80}(?:\\n|\s)+){0,4}([A-Za-z0-9+/=]{40,})",
        is_block,
        whole=True,
    ),
    SecretRule(
        "a PuTTY key",
        r"PuTTY-User-Key-File-\d: [\s\S]*?Private-Lines: \d+\s+([A-Za-z0-9+/=]{40,})",
        is_block,
        whole=True,
    ),
    SecretRule("cluster logins", r"(?:client-key-data|id-token): [\"']?([A-Za-z0-9+/=_.-]{60,})", is_block, whole=True),
    SecretRule(
        "registry logins",
        r"\"auths\"\s*:\s*\{[^\]]*?\"auth\"\s*:\s*\"([A-Za-z0-9+/]{12,}={0,2})\"",
        is_login,
        whole=True,
    ),
    SecretRule("a VPN key", r"(?i)(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)", is_form),
    SecretRule(
        "an npm login", r"(?im)(?:^|[:/\s])_(?:auth|password)[ \t]*=[ \t]*[\"']?([A-Za-z0-9+/]{8,}={0,2})", is_login
    ),
    SecretRule("an npm token", r":_authToken[ \t]*=[ \t]*[\"']?([A-Za-z0-9_.\-]{20,})", is_form),
    SecretRule("a webhook secret", r"\bwhsec_([A-Za-z0-9+/]{24,}={0,2})", is_form),
    SecretRule("a GitHub token", r"\b(?:gh[pousr]_|github_pat_)([A-Za-z0-9_]{36,251})", is_form, least_entropy=3.0),
    SecretRule("a GitLab token", r"\bgl(?:pat|dt|rt|ptt)-([A-Za-z0-9_\-]{20,64})", is_form, least_entropy=3.0),
    SecretRule("a Slack token", r"\bxox[abeoprs]-(\d{6,}-[A-Za-z0-9\-]{12,250})", is_form, least_entropy=3.0),
    SecretRule("an Anthropic key", r"\bsk-ant-[a-z]{3,8}\d\d-([A-Za-z0-9_\-]{60,200})", is_form, least_entropy=3.5),
    SecretRule("an OpenAI key", r"\bsk-(?:proj|svcacct|admin)-([A-Za-z0-9_\-]{40,250})", is_form, least_entropy=3.5),
    SecretRule("a Hugging Face token", r"\bhf_([A-Za-z]{34})\b", is_form, least_entropy=3.5),
    SecretRule(
        "an Azure storage key",
        r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43,86}={1,2})",
        is_form,
        least_entropy=4.0,
    ),
    SecretRule(
        "a Discord token", r"\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})", least_entropy=4.0
    ),
    SecretRule("a Discord webhook", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,80})", is_form),
    SecretRule("a Telegram token", r"(?:\b|bot)\d{8,10}:(AA[A-Za-z0-9_-]{33})\b", is_form, least_entropy=3.5),
    SecretRule("a Mailgun key", r"\bkey-([0-9a-f]{32})\b"),
    SecretRule("a Mailchimp key", r"\b([0-9a-f]{32})-us\d{1,2}\b"),
    SecretRule("a Supabase token", r"\bsb[ps]_(?:[a-z]+_)?([0-9a-zA-Z_]{36,50})\b", least_entropy=3.0),
    SecretRule("a Figma token", r"\bfig[duoh]_([A-Za-z0-9_-]{38,44})\b", is_form, least_entropy=3.5),
    SecretRule("an Atlassian token", r"\bATATT3([A-Za-z0-9_\-=]{100,250})", is_form, least_entropy=4.0),
    SecretRule(
        "a signed token (JWT)",
        r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{20,}\.([A-Za-z0-9_\-]{40,})",
        is_form,
        least_entropy=4.0,
    ),
    SecretRule("a login in a URL", r"://[^\s/:@\"'<>`]{0,60}:([^\s/@\"'<>`]{6,100})@[A-Za-z0-9\[_$]", is_url_password),
    SecretRule(
        "a login in a URL",
        r"://[^\s/:@\"'<>`]{0,60}:([^\s/@\"'<>`]{6,100})@[A-Za-z0-9\[_$]",
        is_any_password,
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
    SecretRule(
        "an AWS secret key",
        r"\bA(?:KIA|SIA)[A-Z0-9]{12,16}[\"']?[ \t]?[:,;/|][ \t]{0,4}[\"']?([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
    ),
    SecretRule(
        "a webhook",
        r"https?:/{2}[^\s\"'<>/]{3,100}/(?:[\w.-]{1,40}/){0,6}(?:web)?hooks?/(?:[\w-]{1,40}/){0,3}([\w-]{16,200})",
    ),
    # Sites name pages, tenants and pictures by so many characters too, but a node of a block chain has methods only.
    SecretRule(
        "a key in a URL",
        r"https?:/{2}(?:[\w.-]{3,100}(?::\d+)?/v\d/([A-Za-z0-9_-]{32})"
        r"|(?:[\w.-]{0,80}[.-])?" + _CHAIN_HOST + r"[\w.-]{2,80}(?::\d+)?(?:/v\d)?/([A-Za-z0-9_-]{32})"
        r"(?:/[\w-]{1,40}){0,3})/?(?:[\"'\s`]|$)",
        made_up=True,
    ),
    SecretRule(
        "a key of 32 bytes",
        r"(?i)(?:key|encrypt|secret|psk)\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?([A-Za-z0-9+/]{43}=)(?:[^=]|$)",
        made_up=True,
    ),
    # Slashes are counted, because the pattern would itself be taken for such a URL.
    SecretRule("a token in a URL", r"https?:/{2}([A-Za-z0-9_-]{20,100})(?::[A-Za-z0-9_-]{0,30})?@[A-Za-z0-9]"),
    SecretRule(
        "a login in a header",
        _BASIC,
        is_login,
    ),
    SecretRule("a login in a header", _BASIC, is_called_login, made_up=True),
    SecretRule(
        "a login in a header", r"(?i)[\"'`]basic[ \t]+([A-Za-z0-9+/]{8,}={0,2})[\"'`]", is_called_login, made_up=True
    ),
    SecretRule(
        "a token in a header",
        r"(?i)(?:authorization[\"'\]]{0,2}[ \t]*(?:[:,=][=> \t]{0,4})?[\"'`]?(?:bearer|token|apikey)"
        r"|authorization:\s{0,20}-[ \t]+[\"']?bearer|[\"'`]bearer)"
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
        paths=SHELL,
    ),
    SecretRule(
        "a password in a command",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass)[ \t][^\n]{0,120}?-p[ \t]{0,1}[\"']?([^\s\"']{6,100})",
        is_password,
        paths=SHELL,
    ),
    SecretRule("a password in a command", r"--password[ =][\"']?([^\s\"']{6,100})", is_password, paths=SHELL),
    SecretRule(
        "a password in a connection string",
        r"(?im)(?:^|[;&?\"'])[ \t]*(?:password|pwd|accountkey|sharedaccesskey)[ \t]*=[ \t]*"
        r"([^;\s\"'(]{6,200})(?:;|[\"'\s]|$)",
        is_url_password,
    ),
    SecretRule(
        "a password in a login file",
        r"(?:\bmachine|\blogin)[ \t]+\S{1,100}\s+(?:login[ \t]+\S{1,100}\s+)?password[ \t]+([^\s]{6,100})",
        is_password,
    ),
    SecretRule(
        "a password in markup",
        r"(?i)<[\w.:-]{0,40}" + NAME + r"[\w.-]{0,20}(?:[ \t][^>]{0,100})?>\s{0,4}([^<>\s]{8,200})\s{0,4}</",
        made_up=True,
    ),
    SecretRule(
        "a password in markup",
        r"(?i)key=[\"'][\w.:-]{0,40}" + NAME + r"[\w.-]{0,20}[\"'][ \t]+value=[\"']([^\"'\s]{8,200})[\"']",
        made_up=True,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?i)" + NAME + REST + SIGN + r"@?(?:[bruf]?\\?[\"'`])(" + VALUE + r"{8,400}?)\\?[\"'`]",
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
        + NAME
        + r"[\w.-]{0,20}[\"'][^<>]{0,60}>\s{0,4}([^<>\s]{8,200})\s{0,4}<",
        made_up=True,
    ),
    SecretRule(
        "a password in a setting",
        r"(?im)^[ \t]*(?:(?:requirepass|masterauth|passwd|secret|token)[ \t]|[\w.-]{0,40}password[ \t]?[:= ])[ \t]*"
        r"([^\s\"']{8,200})[ \t]*$",
        is_password,
        made_up=True,
        paths=BARE,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?i)#[ \t]*define[ \t]+\w{0,40}" + NAME + r"\w{0,20}[ \t]+\"([^\s\"]{8,400})\"",
        made_up=True,
    ),
    # A variable as an object with name and value: `- name: DB_PASSWORD`, `value: ...` in the environment of a
    # container.
    SecretRule(
        "a password or key in plain text",
        r"(?i)\b(?:name|key)[\"']?\s{0,2}[:=]\s{0,4}[\"']?[\w.-]{0,40}"
        + NAME
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
        + NAME
        + r"[\w.-]{0,20}[ \t]?[:=][ \t]?([^\s\"'`,;]{8,400})[ \t]*$",
        made_up=True,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?im)" + NAME + r"[\w.-]{0,20}[\"']?[ \t]*(?:[:?]?[=:])[ \t]*([^\s\"'`,;]{8,400})[ \t]*(?:[;#\\\s]|$)",
        made_up=True,
        paths=BARE,
    ),
    SecretRule(
        "a password or key in plain text",
        r"(?im)^[ \t]*(?:ENV|ARG)[ \t]+[\w.-]{0,40}" + NAME + r"[\w.-]{0,20}[ \t=]+([^\s\"'`]{8,400})[ \t]*(?:\s|$)",
        made_up=True,
        paths=re.compile(r"(?i)(?:dockerfile|containerfile)[^/]*$"),
    ),
)
