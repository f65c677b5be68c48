"""Rules about passwords after a name that says so: in code, settings, markup, SQL and strings of connections.

Such a value need not look random; `passwords` judges it. The name must end with the word: `db_password`, not
`password_field`.
"""

from __future__ import annotations

import re

from sidecar.parts.secrets.judge import looks_random
from sidecar.parts.secrets.passwords import (
    is_called_password,
    is_called_secret,
    is_called_url_password,
    is_encoded_password,
    is_generated_secret,
    is_phrase,
)
from sidecar.parts.secrets.rule import BARE, Family, SecretRule, is_form

# How the name of a password ends. Case counts where the word might be part of another: `bypass`, `compass`.
PASSWORD = (
    r"(?:passw(?:or)?d|passphrase|passcode|passwort|pre[_-]?shared[_-]?key|(?:\b|_)(?:pass|pwd|psk|pw)|[a-z]{2,12}(?:pass|pwd)"
    r"|(?-i:[a-z0-9](?:Pass|Pwd|PW|Psk)|[A-Z]{2}(?:PASS|PWD)|[A-Z]_(?:PSK|PW)))"
)
SECRET = (
    r"(?:(?:client|api|app|shared|consumer|auth|jwt|session|cookie|webhook|smtp|mail|oauth|\b"
    r"|_)[_.-]?secret(?:[_.-]?key)?(?:_base)?"
    r"|(?-i:[a-z]Secret(?:Key)?)|api[_.-]?(?:key|token)|(?:access|auth|deploy|bot|private|signing|encryption|master"
    r"|arg|http)[_.-]?(?:token|key)"
    r"|(?-i:[a-z](?:Token|ApiKey)|[a-z]_token|[A-Z]_TOKEN)|security_credentials)"
)
_END = r"(?:[_-]value|_?\d{1,2}_?|_)?"
_CLOSED = r"\\?[\"'`]?[\"'`\])}]{0,4}[ \t]{0,8}"
# `: str =`, `As String =`, `VARCHAR2(30) :=`, `::String =`, `[]const u8 =`.
_TYPE = (
    r"(?:\??:[ \t]?[&\w'<>.\[\]* ]{1,24}[ \t]?(?:=|:=)|As[ \t]String[ \t]?=|[ \t]?n?varchar2?(?:\(\d{1,4}\))?[ \t]?:?="
    r"|(?:n?var)?(?:string|char|str|text)[ \t]?=|type[ \t]string[ \t]value|\[\d{0,4}\][ \t]?=)"
)
_BETWEEN = (
    r"(?:"
    + _TYPE
    + r"|=>|:=|[?|]{1,2}=|\|\||\?\?|\?:|[=!]={0,2}|:{1,3}|[ \t]\.[ \t]|,|<-|[({]|\.\w{2,12}\(|;s:\d{1,3}:|,[ \t]?with:"
    r"|:[ \t]?\{[ \t]?[\"']value[\"']:|\b)[ \t\n]{0,12}"
    r"(?:new [\w.]{1,20}\(|\[\]byte\(|[A-Za-z:]{1,16}\()?(?:[@$]|<<|[A-Za-z]{1,2})?"
)
_QUOTED = r"(?:[\"'`]\\)?\\{0,2}[\"'`]([^\s\"'`\\]{6,100})\\{0,3}(?:[rn]\\?)?[\"'`]"
_TO_END = r"[\"']?([^\s\"'`;,]{6,100})[\"']?(?:[ \t]*(?:[;#,&\\}\n\r]|$)|[ \t]+[^\s{(=])"
# Every file that is neither code nor prose may have settings without quotes.
_SETTINGS = re.compile(
    BARE.pattern
    + r"|\.(?!(?:py[iwx]?|[cm]?[jt]sx?|go|rs|java|kts?|scala|sc|groovy|gradle|[chm]|cc|cpp|cxx|hpp|hh|mm|cs|fs|vb"
    r"|bas|cls|rb|php|swift|p[lm]|lua|exs?|erl|hs"
    r"|mli?|clj[sc]?|el|lisp|scm|dart|zig|nim|d|r|jl|pas|ad[bs]|tcl|md|rst|adoc|tex|html?|s?css|less|vue|svelte"
    r"|json|ipynb|lock|sum|svg|csv|tsv|po|sql"
    r"|proto|graphql|diff|patch|snap|map|xml|bicep|gd|ps1|vbs|asm|s|sol|vim|cmake|am|ac|in|rake"
    r"|feature)$)[a-z0-9_]{1,14}$"
)

_VARIABLE = r"(?i)setenv|setx|set[ \t]+-\w|fastcgi_param|env|config set|<<<|\$\{|default"
_MARKUP = r"(?i)</|(?:value|content)\\?[\"']?\s{0,2}[:=]"

_NAMED: tuple[SecretRule, ...] = (
    SecretRule("a password", r"(?i)" + PASSWORD + _END + _CLOSED + _BETWEEN + _QUOTED, is_called_password),
    SecretRule("a secret", r"(?i)" + SECRET + _END + _CLOSED + _BETWEEN + _QUOTED, is_called_secret),
    SecretRule(
        "a password in a setting",
        r"(?im)" + PASSWORD + _END + r"[\"']?[ \t]{0,8}(?:[:?]?=|:)[ \t]*" + _TO_END,
        is_called_password,
        paths=_SETTINGS,
    ),
    # Without a sign of assignment, only a word in small letters is a statement.
    SecretRule(
        "a password in a setting",
        r"(?m)(?:\b|_)(?:(?:password|passwd|passphrase|passcode|pass|pwd|psk)\d?|Password\d)[ \t]+(?:[0578] |is )?"
        + _TO_END,
        is_called_password,
        paths=_SETTINGS,
    ),
    # Files of properties also separate a name with dots from its value by spaces.
    SecretRule(
        "a secret in a setting",
        r"(?im)^[ \t]*[\w-]{1,40}\.[\w.-]{0,100}?(?:" + PASSWORD + "|" + SECRET + r")[ \t]+" + _TO_END,
        is_called_secret,
        paths=_SETTINGS,
    ),
    SecretRule(
        "a secret in a setting",
        r"(?im)" + SECRET + _END + r"[\"']?[ \t]{0,8}(?:[:?]?=|:)[ \t]*" + _TO_END,
        is_called_secret,
        paths=_SETTINGS,
    ),
    SecretRule(
        "a password in a shell variable",
        r"(?:PASSWORD|PASSWD|PASSPHRASE|[A-Z_]PASS|[A-Z_]PWD|_PSK|_PW)(?:_?\d)?=\\?[\"']?([^\s\"'`;&|<>)\\]{6,100})",
        is_called_password,
    ),
    SecretRule(
        "a secret in a shell variable",
        r"(?:SECRET|TOKEN|API_KEY|_AUTH|SECRET_KEY)(?:_?\d)?=\\?[\"']?([^\s\"'`;&|<>)\\]{8,200})",
        is_called_secret,
    ),
    # `setenv NAME value`, `set -gx NAME value`, `setx NAME "value"`, `SetEnv NAME value`, `read NAME <<< value`.
    SecretRule(
        "a password in a shell variable",
        r"(?i)\b(?:setenv|setx|set[ \t]+-\w+|fastcgi_param|env|config set)[ \t]+[\w.-]{0,40}(?:pass(?:word|wd)?|pwd"
        r"|secret|token|api_?key)_?\d?[ \t]+"
        + _TO_END
        + r"|(?:pass(?:word|wd)?|pwd|secret|token|key)\w{0,3}[ \t]*<<<[ \t]*"
        + _TO_END,
        is_called_password,
        needs=_VARIABLE,
    ),
    SecretRule(
        "a password in a shell variable",
        r"(?i)\$\{\w{0,40}(?:pass(?:word|wd)?|pwd|secret|token|api_?key)_?\d?:?[-=]([^\s\"'`{}$]{6,100})\}",
        is_called_password,
        needs=_VARIABLE,
    ),
    SecretRule(
        "a password in a variable's default",
        r"(?i)[\w-]{0,40}(?:" + PASSWORD + r"|secret|token"
        r"|key)\"?[ \t]*\{[^}]{0,200}?default[ \t]*=[ \t]*\"([^\s\"]{6,200})\"",
        is_called_password,
        paths=re.compile(r"\.(?:tf|hcl|tf\.json)$"),
        needs=_VARIABLE,
    ),
    # `add_argument("--password", default="...")` and other declarations of options.
    SecretRule(
        "a password in an option's default",
        r"(?i)(?:"
        + PASSWORD
        + "|"
        + SECRET
        + r")[\"'`],[^\n;]{0,120}?\bdefault(?:_value)?\"?[ \t]{0,2}(?:=>|=|:)[ \t]{0,2}"
        r"[\"'`]([^\s\"'`]{6,100})[\"'`]",
        is_called_secret,
        needs=_VARIABLE,
    ),
    # `SecretStr("...")`: the type of the value says it.
    SecretRule(
        "a secret",
        r"(?i)\b(?:secret|protected|secure|masked|sensitive|redacted)[ _]?(?:str(?:ing)?|text|value|box)?"
        r"(?:\.(?:new|of|from\w{0,12}|\w{0,12}plain_?text))?\([\"'`]([^\s\"'`]{8,100})[\"'`]",
        is_called_secret,
    ),
    # `name: DB_PASSWORD`, `value: ...`, in the notations of containers, collections of requests and markup.
    SecretRule(
        "a password in a pair",
        r"(?i)\b\w{0,12}(?:name|key|id|property|type)\\?[\"']?\s{0,2}[:=]\s{0,4}\\?[\"']?[\w.:-]{0,60}?(?:"
        + PASSWORD
        + "|"
        + SECRET
        + r")\d?\\?[\"']?[,;]?\s{1,40}(?:[\w:.-]{0,20}:)?\\?[\"']?(?:\w{0,12}value"
        r"|content)\\?[\"']?\s{0,2}[:=]\s{0,4}\\?[\"']?([^\s\"'`,;}]{6,200})",
        is_called_secret,
        needs=_MARKUP,
    ),
    SecretRule(
        "a password in markup",
        r"(?i)" + PASSWORD + _END + r"(?:[\"']?(?:[ \t][^<>]{0,100})?>"
        r"|</\w{1,20}>)(?:\s{0,4}</\w{1,20}>)?\s{0,60}(?:<\w{1,20}>\s{0,4}){0,2}(?:[\w.@-]{1,60}\r?\n)?"
        r"([^<>\s]{6,100})\s{0,4}</",
        is_called_password,
        needs=_MARKUP,
    ),
    SecretRule(
        "a secret in markup",
        r"(?i)" + SECRET + _END + r"(?:[\"']?(?:[ \t][^<>]{0,100})?>"
        r"|</\w{1,20}>)(?:\s{0,4}</\w{1,20}>)?\s{0,60}(?:<\w{1,20}>\s{0,4}){0,2}([^<>\s]{8,200})\s{0,4}</",
        is_called_secret,
        needs=_MARKUP,
    ),
    SecretRule(
        "a password in markup",
        r"(?i)"
        + PASSWORD
        + _END
        + r"[\"'][^<>]{0,100}?[ \t](?:[\w]{1,20}:)?(?:value|content)=[\"']([^\s\"'<>]{6,200})[\"']",
        is_called_password,
        needs=_MARKUP,
    ),
    SecretRule(
        "a secret in markup",
        r"(?i)"
        + SECRET
        + _END
        + r"[\"'][^<>]{0,100}?[ \t](?:[\w]{1,20}:)?(?:value|content)=[\"']([^\s\"'<>]{6,200})[\"']",
        is_called_secret,
        needs=_MARKUP,
    ),
    # `host=a user=b password=c`, and the parts of a body or URL: `user=a&password=b`.
    SecretRule(
        "a password in a connection string",
        r"(?i)(?:[\w.-]{1,24}[ \t]?=[ \t]?[^\s\"'&;,()={}]{1,100}|[\w.-]{1,60}:\d{2,5})(?:[ ;&?,]"
        r"|; )[ \t]?(?:[\w-]{0,20}[_.-])?(?:password|passwd|pwd|pass|secret)[ \t]?=[ \t]?"
        r"([^\s\"'&;,(){}]{6,100})[\"'\s&;,]",
        is_called_url_password,
    ),
    # Sentences of notes and comments.
    SecretRule(
        "a password in a note",
        r"(?i)\b(?:password|passwd|pass|passphrase|pw)(?:[ \t]+is|:|[ \t]*=)[ \t]+[\"'`]?([^\s\"'`<>,;]{7,60})",
        is_called_password,
        paths=re.compile(r"(?i)\.(?:txt|log|org|note|text)$|(?:^|/)[^.]+$"),
    ),
    SecretRule(
        "a password in a comment",
        r"(?im)(?:#|//|--|/\*|^[ \t]*\*|;|<!--)[^\n]{0,100}?\b(?:password|passwd|passphrase|pwd|pw)"
        r"(?:[ \t]+is:?|[ \t]?[:=])[ \t]*[\"'`]?([^\s\"'`<>,;]{7,60})",
        is_called_password,
    ),
    SecretRule(
        "a password in an answer",
        r"(?i)assw(?:or)?d[^\n]{0,40}\n?[^\n]{0,40}?\b(?:send(?:_?line|ln|all)?|write)(?:[ \t]+-?-?"
        r"|\()[ \t]*b?[\"']([^\s\"'\\]{6,100})(?:\\[rn])*[\"']",
        is_called_password,
    ),
)

_SIGN_INS = r"(?:acme_)?dns|auth(?:enticate|orize|token)?|log[_-]?in|enrol+|activate|license"
_JOINS = r"join|register"
_ARGUMENTS = r"(?:[ \t]+[\w.@-]{1,30}){0,2}?[ \t]+[\"']?"
_STATEMENT_END = r"[\"']?[ \t]*;?[ \t]*$"
# Such words begin lines of SQL, logs and notes too, so only files that consist of statements.
_STATEMENT_FILE = re.compile(
    r"(?i)\.(?:conf|cfg|cnf|config|ini|rc|caddy(?:file)?)(?:\.(?:example|sample|template|dist|tmpl|tpl|j2|in))?$"
    r"|(?:^|/)(?:[^./]*file|\.?[^./]*(?:rc|conf|config)|caddyfile[^/]*)$"
)
_STATEMENTS: tuple[SecretRule, ...] = (
    # Statements of configuration files that hold a password under another name.
    SecretRule(
        "a password in a setting",
        r"(?im)(?:(?:requirepass|masterauth|auth-pass[ \t]+\S+|rootpw|bindpw|\boption[ \t]+key|bindpassword"
        r"|secret(?:[ \t]+[0578])?"
        r"|r[ow]community6?|snmp-server community|com2sec[ \t]+\S+[ \t]+\S+|createuser[ \t]+\S+[ \t]+(?:md5|sha[\d-]*)"
        r"|(?:isakmp|tacacs-server|radius-server)[^\n]{0,60}?[ \t]key(?:[ \t]+[0578])?|pre-shared-key(?:[ \t]+\w+)?"
        r"|(?:message-digest-key[ \t]+\d+[ \t]+\w+|authentication-key|key-string)(?:[ \t]+[0578])?"
        r"|insecure-password)[ \t]+|\blogin=[\w.@-]{1,40}:|olcrootpw:[ \t]*|:[ \t]*(?:psk|eap|xauth)[ \t]+"
        r"|(?:(?:stats[ \t]+auth|http-auth)[ \t]+[\w.@-]+:|\bon[ \t]+>|\buser_[\w-]{1,40}=)[ \t]*)" + _TO_END,
        is_called_password,
        paths=_SETTINGS,
    ),
    SecretRule(
        "a login in a setting",
        r"(?m)(?:^|\becho[ \t]+')[ \t]*(?:\"?[\w@.-]+\"?[ \t]+(?:\*[ \t]+\"?([^\s\"']{6,100})\"?[ \t]+\*?"
        r"|[\w.-]+[ \t]+\"([^\s\"']{6,100})\"[ \t]+\*'?[^\n]*)"
        r"|\[?[\w.-]+\]?:\d+[ \t]+[\w.@+-]+:(\S{6,100}))[ \t]*$",
        is_called_password,
        paths=_SETTINGS,
    ),
    SecretRule(
        "a login in a setting",
        r"(?m)(?:^|[\s\"'])[\w.*-]+:(?:\*|\d{4,5}):[\w*.-]+:[\w*.-]+:([^\s\"':]{6,100})[\"']?(?:\s|$)",
        is_called_password,
        paths=re.compile(r"(?i)pgpass|\.(?:sh|bash|ya?ml|cfg|conf|ps1)$|(?:^|/)[^.]+$|dockerfile[^/]*$"),
    ),
    # `dns cloudflare TOKEN`: statements that make a program known to another one.
    SecretRule(
        "a token in a setting",
        r"(?im)^[ \t]*(?:" + _SIGN_INS + ")" + _ARGUMENTS + r"([\w.~+/=-]{20,200})" + _STATEMENT_END,
        is_generated_secret,
        paths=_STATEMENT_FILE,
    ),
    # What is joined or registered mostly has a name or a UUID, with hyphens.
    SecretRule(
        "a token in a setting",
        r"(?im)^[ \t]*(?:" + _JOINS + ")" + _ARGUMENTS + r"([\w.~+/=]{20,200})" + _STATEMENT_END,
        is_generated_secret,
        paths=_STATEMENT_FILE,
    ),
    # The scheme of a password in a file of users says that it is plain.
    SecretRule("a login in a setting", r"(?i)\{(?:plain|clear)(?:text)?\}([^\s:\"']{6,100})", is_called_password),
    # `AUTH PLAIN` as mail servers write it: `^user^password`.
    SecretRule("a login in a setting", r"[\"']\^[\w.@-]{1,60}\^([^\s\"'^]{6,100})[\"']", is_called_password),
    SecretRule(
        "a login in a setting",
        r"(?i)\[basic_?auth\]\s{1,8}[\w.@-]{1,60}:[ \t]*(\S{6,100})",
        is_called_password,
    ),
    SecretRule(
        "a login in a setting",
        r"\bBUNDLE_[A-Z0-9_]+:[ \t]*[\"']?[\w.@-]{1,60}:([^\s\"':]{6,100})"
        r"|(?m)^[ \t]*(?:-[ \t]+)?root:([^\s\"':$]{6,100})$",
        is_called_password,
        paths=BARE,
    ),
)

_STRINGS: tuple[SecretRule, ...] = (
    SecretRule(
        "a password in a connection string",
        r"[\w.-]{1,40}:([^\s:/\"'<>()]{6,100})@(?:tcp|udp|unix)?\(",
        is_called_password,
    ),
    SecretRule(
        "a password in a connection string",
        r"(?i)(?::thin:|\b(?:sqlplus|impdp|expdp|imp|exp|sqlldr"
        r"|rman)\b[^\n]{0,60}?[ \t=\"'])[A-Za-z][\w-]{0,30}/([^\s/@\"']{6,100})@",
        is_called_password,
    ),
    SecretRule(
        "a key in a URL",
        r"(?i)[?&;](?:[\w.-]{0,24}[_.-])?(?:api_?key|apikey|key|token|secret|password|passwd|pwd|pass|auth"
        r"|signature|sig|code)=([\w%~.+/=-]{16,300})",
        looks_random,
    ),
    SecretRule(
        "a signature in a URL",
        r"[?&;](?:sig|se|sv|sp)=[^\s\"'<>]{1,300}?[?&;]sig=([\w%~.+/=-]{20,120})",
        is_form,
    ),
    SecretRule(
        "a private key",
        r"(?i)(?:accounts?|private[_-]?key|wallet|signer|from_?key|secret)[^\n]{0,40}?[\"'\s](?:0x)?([0-9a-f]{64})\b",
    ),
    SecretRule(
        "a password in SQL",
        r"(?i)\bidentified[ \t]+by[ \t]+(?:password[ \t]+)?[\"']?([^\s\"';]{6,100})[\"']?",
        is_called_password,
    ),
    SecretRule(
        "a login in a note",
        r"(?i)(?:#|//|--|/?\*|;|<!--)[^\n]{0,60}?\b(?:login|log in|credentials|creds|account|sign in"
        r"|password)s?\b[^\n]{0,40}?[:=][ \t]*[\w.@+-]{1,40}[ \t]?/[ \t]?([^\s\"'`<>/]{7,60})",
        is_called_password,
    ),
)

_USER_AND = (
    r"(?:auth|ident|login|creds|credentials?|userpwd|user_?info|userpass|\buser)\\?[\"']?[ \t]{0,4}(?:=>|[:=,])"
    r"[ \t]{0,4}\\?[\"'][\w.@+-]{1,60}:"
)
_OBJECTS: tuple[SecretRule, ...] = (
    # `"Jwt": {"Issuer": "...", "Key": "..."}`: what the object is for says what its key is.
    SecretRule(
        "a key in a setting",
        r"(?i)(?:jwt|token|auth|signing|encryption|crypto|session|cookie|hmac)\w{0,20}[\"']?"
        r"[ \t]?[:=][ \t]?\{[^{}]{0,300}?[\"']?\b(?:key|secret|salt|pepper)[\"']?[ \t]?[:=][ \t]?"
        r"[\"']([^\s\"']{8,200})[\"']",
        is_called_secret,
    ),
    SecretRule(
        "a key in a setting",
        r"(?im)(?:jwt|token|auth|signing|encryption|crypto|session|cookie|hmac)\w{0,20}:[ \t]*\n"
        r"(?:[ \t]+[^\n]{0,100}\n){0,3}?[ \t]+(?:key|secret|salt|pepper):[ \t]*[\"']?([^\s\"'#]{8,200})[\"']?[ \t]*$",
        is_called_secret,
    ),
    # `"username": "...", "key": "..."`: what follows a user is that user's.
    SecretRule(
        "a key in a setting",
        r"(?i)\b(?:user(?:_?name)?|login|account\w{0,6}|\w{0,12}(?:key|client)_?id)[\"']?"
        r"[ \t]?(?:=>|[:=])[ \t]?[\"'][^\"'\s]{1,80}[\"'],\s{0,20}"
        r"[\"']?(?:api_?)?(?:key|secret|token)[\"']?[ \t]?(?:=>|[:=])[ \t]?[\"']([^\"'\s]{16,200})[\"']",
    ),
    # `npmAuthIdent: "user:password"`.
    SecretRule(
        "a login in a setting",
        r"(?i)" + _USER_AND + r"([^\s\"':]{6,100})\\?[\"']",
        is_called_password,
    ),
)

KEYED: tuple[SecretRule, ...] = (
    SecretRule(
        "a login in a setting",
        r"(?m)^[ \t]*(?:-[ \t]+)?[a-z_][\w.-]{0,31}:([^\s\"':]{6,100})[ \t]*$",
        is_called_password,
        keywords=("chpasswd",),
        paths=BARE,
    ),
    SecretRule(
        "a recovery phrase",
        r"(?i)(?:mnemonic|phrase)\w{0,20}\\?[\"'`]?\]?[ \t]{0,4}(?:=>|:=|[=:(,])[ \t]{0,4}\\?[\"'`]?"
        r"((?:[a-z]{3,8} ){11,23}[a-z]{3,8})(?:\\?[\"'`]|\s|$)",
        is_phrase,
        keywords=("mnemonic", "phrase"),
    ),
    SecretRule(
        "unseal keys",
        r"(?i)\bunseal(?:[_ ]?keys?\w{0,8})?[\"']?(?:[ \t]+\d{1,2})?[ \t]*[:=]?[ \t]*"
        r"\[?\s{0,20}[\"']?([A-Za-z0-9+/]{40,64}={0,2})",
        is_form,
        whole=True,
        keywords=("unseal",),
        least_entropy=4.0,
    ),
    SecretRule(
        "data of a Kubernetes secret",
        r"(?m)^[ \t]{1,8}[\w.-]{1,80}:[ \t]+[\"']?([A-Za-z0-9+/]{8,}={0,2})[\"']?[ \t]*$"
        r"|\"[\w.-]{1,80}\": ?\"([A-Za-z0-9+/]{8,}={0,2})\"",
        is_encoded_password,
        keywords=("kind: secret", '"kind": "secret"', '"kind":"secret"'),
        paths=re.compile(r"\.(?:ya?ml|json|tpl)$"),
    ),
    SecretRule(
        "a key of JSON Web Key",
        r"\"?\b[dk]\"?[ \t]?:[ \t]?[\"']([A-Za-z0-9_-]{40,700})[\"']",
        is_form,
        keywords=("kty",),
        least_entropy=3.5,
    ),
)

LINES = (
    Family(
        r"(?i)pass|assword|pwd|psk|\bpw\b|_pw\b|secret|api[_.-]?key|(?:access|auth|deploy|bot|private|signing"
        r"|encryption|master|arg|http)[_.-]?key"
        r"|token(?:_?\d)?\\?[\"'`>\])]{0,2}[ \t]{0,4}[=:,(>|?}]|token[ \"][^\n]{0,30}\d"
        r"|token[ \t\r]{0,4}\n[ \t]{0,20}\"?\w{0,12}(?:value|content)\b|pre[_-]?shared|security_credentials|_AUTH=",
        _NAMED,
    ),
    Family(
        r"(?i)requirepass|masterauth|auth-pass|rootpw|bindp|secret|community|com2sec|createuser|[ \t]key[ \t]"
        r"|pre-shared|psk|eap"
        r"|xauth|stats[ \t]+auth|http-auth|on[ \t]+>|[ \t]\*[ \t]|\]:\d|:\d+[ \t]+\S+:|:(?:\*|\d{4,5}):|bundle_"
        r"|(?m:^[ \t]*(?:" + _SIGN_INS + "|" + _JOINS + r")[ \t])"
        r"|root:|user_|\blogin=|authentication-key|message-digest-key|key-string|\{plain|\{clear|[\"']\^\w|\[basic"
        r"|[ \t]\*'",
        _STATEMENTS,
        paths=_SETTINGS,
    ),
    Family(
        r"(?i)@(?:tcp|udp|unix)?\(|:thin:|\b(?:sqlplus|impdp|expdp|imp|exp|sqlldr|rman)\b"
        r"|[?&;](?:[\w.-]{0,24}[_.-])?(?:api_?key|key|token|secret|password|passwd|pwd|pass|auth|signature|sig"
        r"|code)=|identified[ \t]+by"
        r"|\b(?:login|log in|creds|credentials|sign in)\b[^\n/]{0,60}[:=]|[0-9a-f]{64}"
        r"|(?:jwt|token|auth|signing|encryption|crypto|session|cookie|hmac)\w{0,20}[\"']?[ \t]?[:=][ \t]?(?:\{|\n)"
        r"|"
        + _USER_AND
        + r"|,\s{0,20}[\"']?(?:api_?)?(?:key|secret|token)[\"']?[ \t]?(?:=>|[:=])[ \t]?[\"'][^\"'\s]{16}",
        (*_STRINGS, *_OBJECTS),
    ),
)
