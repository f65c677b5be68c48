"""Rules about passwords that no name announces: arguments of calls that log in, options of commands, pipes.

The call or command says that one of its values is a password; `passwords` judges which.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sidecar.parts.secrets.lines import PASSWORD, SECRET
from sidecar.parts.secrets.passwords import is_argument, is_called_password, is_called_secret
from sidecar.parts.secrets.rule import Family, SecretRule

# Calls whose second argument is a password, and calls that have one as a later argument.
_LOGIN = (
    r"(?:log_?(?:in|on)|sign_?in|auth|authenticat(?:e|ion)|authorize|basic(?:_?auth\w*|credentials)?|plain_?auth"
    r"|\w{0,20}credentials?\w{0,6}|pscredential|\w{0,12}bind\w{0,3}|\w{0,12}entry|\w{0,16}(?:password|passwd|_pw)\w{0,6}"
    r"|imap_open"
    r"|(?:create|add|new)_?(?:account|user|login)|(?:wifi|wlan|wi_?fi)\w{0,6}(?:\.|->)(?:begin|connect))"
)
_OPEN = r"(?:connect|get_?connection|connection|mysqli|mysqli_connect|pdo|dial|database|\w{0,12}_connect)"
_ARGUMENT = r"(?:[\w. +$>\[\]:&*-]{0,40}[\"'][^\"'\n]{0,120}[\"']|[\w.$>\[\]:-]{1,60}|\{[^{}\n]{0,120}\}),\s{0,20}"
# The value has a character that is in no name, so that a match does not end at a name before the password.
_STRING = r"(?:\w{1,2}|Some\(|\[\]byte\()?[\"'`]([A-Za-z._/-]{0,100}[^\sA-Za-z._/\"'`-][^\s\"'`]{0,100})[\"'`]"
_SIGNER = r"(?:jwt|jws|jwe|jose|hmac|aes|des|cipher|rc4|blowfish|encrypt|decrypt|sign|verify|signer)"

_SCRIPT = re.compile(
    r"(?i)\.(?:sh|bash|zsh|fish|ksh|csh|ya?ml|mk|toml|bat|cmd|ps1|psm1|json|service|exp|groovy|gradle|txt|md|rst|tf"
    r"|cfg|conf|spec|just|nu|log|history)$"
    r"|\.(?:py|js|ts|rb|php|pl)$|(?:^|/)[^.]+$|(?:docker|make|jenkins|proc|vagrant)file[^/]*$"
)
# Options between `[ -]-name` and its value: a space, `=`, or the next string of a list.
_GAP = r"(?:[ \t=:]|[\"'],[ \t\n]{0,12}[\"']|[\"']?\n[ \t]*-[ \t]+)[\"']?"
_VALUE = r"([^\s\"'`;|<>]{6,100})"
_REST_OF_LINE = r"(?:[^\n]|\\\n){0,200}?"

# A string that may be a password or a key: it has a character that is in no name.
_NO_NAME = r"[\"'`][^\s\"'`]*[^\sA-Za-z._/\"'`-][^\s\"'`]*[\"'`]"

_CALLS: tuple[SecretRule, ...] = (
    SecretRule("a password in a call", r"(?i)" + _LOGIN + r"[ \t]?\(\s{0,20}" + _ARGUMENT + _STRING, is_argument),
    SecretRule(
        "a password in a call",
        r"(?i)(?:" + _LOGIN + "|" + _OPEN + r")[ \t]?\(\s{0,20}(?:" + _ARGUMENT + "){2}" + _STRING,
        is_argument,
    ),
    SecretRule(
        "a password in a call",
        r"(?i)(?:" + _LOGIN + "|" + _OPEN + r")[ \t]?\(\s{0,20}(?:" + _ARGUMENT + "){3,4}?" + _STRING,
        is_argument,
    ),
    SecretRule(
        "a password in a call",
        r"(?i)\b(?:auth|login|basic_?auth|credentials"
        r"|creds)[\"']?[ \t]*[=:][ \t]*[(\[{][ \t]*[\"'][^\"'\s]{1,60}[\"'],[ \t]*[\"']([^\"'\s]{7,100})[\"']",
        is_called_password,
    ),
    # Ruby and Groovy call without parentheses.
    SecretRule(
        "a password in a call",
        r"(?i)\.(?:basic_?auth|auth|authenticate|log_?in|sign_?in)[ \t]+[\"'][^\"'\s]{1,60}[\"'],[ \t]*"
        r"[\"']([^\"'\s]{7,100})[\"']",
        is_called_password,
    ),
    # A key store is opened with its password as characters.
    SecretRule(
        "a password in a call",
        r"(?i)(?:load|init|getkey|setkeyentry|unlock|password\w{0,16}|pbekeyspec|authentication)[ \t]?\([^\n;]{0,100}?"
        r"\"([^\s\"]{6,100})\"\.tochararray\(",
        is_called_password,
    ),
    SecretRule("a key in a call", r"(?i)" + _SIGNER + r"[\w.]{0,16}\(\s{0,20}" + _ARGUMENT + _STRING, is_called_secret),
    SecretRule(
        "a key in a call",
        r"(?i)(?:cookie_?(?:parser|store|session)|hmac\.new|fernet|secretbox|cookiestore)\w{0,10}\([ \t]*" + _STRING,
        is_called_secret,
    ),
    SecretRule(
        "a password in a call",
        r"(?i)(?:\b|_|\.|>)(?:auth|authenticate|pass_|unlock|unprotect)[ \t]?\([ \t]*" + _STRING + r"[ \t]*\)",
        is_called_secret,
    ),
    SecretRule("a password in a call", r"(?i)connect\w{0,8}[ \t]?\(\s{0,20}" + _ARGUMENT + _STRING, is_called_secret),
    SecretRule(
        "a key in a call",
        r"(?i)(?:(?:client|api|provider|\bs3|\bgcs|blob|bucket|storage)\w{0,12}"
        r"(?:[ \t]?\(|[ \t]:\w+,|[ \t]?=[^\n;]{0,60}?\()|\bnew[ \t]\w+\()\s{0,20}(?:"
        + _ARGUMENT
        + "){1,2}?"
        + r"[\"'`]([^\s\"'`]{24,100})[\"'`]",
    ),
    SecretRule("a key in a call", r"(?i)(?:client|api|provider)\w{0,12}[ \t]?\(\s{0,20}[\"'`]([\w+/=-]{24,100})[\"'`]"),
    SecretRule(
        "a key in a call",
        r"(?i)(?:log_?in|auth\w{0,12}|connect\w{0,8}|client\w{0,8})[ \t]?\([^()\n]{0,120}?"
        r"\b(?:key|token|secret)[ \t]?[=:][ \t]?[\"']([^\s\"']{16,200})[\"']",
    ),
    SecretRule("a seed of one-time codes", r"(?i)\b[th]?otp\w{0,12}[ \t]?\([ \t]*[\"']((?-i:[A-Z2-7]{16,64}))[\"']"),
    SecretRule(
        "a password in a call",
        r"(?i)\b(?:open|connect)[ \t]+\"[^\"\n]{1,120}\",[ \t]*\"[^\"\n]{1,60}\",[ \t]*\"([^\s\"]{6,100})\"",
        is_called_password,
    ),
)

_COMMANDS: tuple[SecretRule, ...] = (
    SecretRule(
        "a password in a command",
        r"(?i)(?:^|[\s\"'])(?:-u|-user(?:name)?|--user(?:name)?|--login|-D|-l|user|login)(?:[ \t=]"
        r"|[\"'],[ \t]?[\"'])?[\"']?[^\s\"']{1,60}"
        + _REST_OF_LINE
        + r"[ \t\"'](?-i:-[pPwW]|-pw|-pass|-passwd)(?:[ \t=]|[\"'],[ \t]?[\"'])?[\"']?"
        + _VALUE,
        is_called_password,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a password in a command",
        r"(?i)\b(?:zip|unzip|7z[azr]?|rar|unrar|sshpass|redis-cli|openssl|mysql\w*|mariadb\w*|ldap\w+|sqlcmd|bcp"
        r"|isql|mongo\w*|cqlsh|influx|x?freerdp"
        r"|rdesktop|ipmitool|snmp\w+|plink|pscp|psexec|winexe|keytool|jarsigner|ncftp\w*|htpasswd|pdftk|qpdf"
        r"|cadaver|vncviewer|rclone|restic)\b"
        + _REST_OF_LINE
        + r"[ \t](?:(?-i:-[pP])[ \t=]?|(?-i:-[akwcA]|-pw|-pass(?:in|out|word)?)[ \t=])[\"']?(?:pass:)?"
        + _VALUE,
        is_called_password,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a login in a command",
        r"(?i)(?:[ \t](?-i:-U)|--user|--proxy-user|\buser)[ \t=][\"']?[\w.\\@-]{1,60}%([^\s\"'`;|<>]{6,100})"
        r"|\b(?:curl|https?|xh|wget|ab|wrk|siege)[ \t]"
        + _REST_OF_LINE
        + r"(?-i:-[A-Za-z]{0,6}[uaA]|--[\w-]{0,16}(?:user|auth))[ \t=]?[\"']?[\w.@-]{1,60}:([^\s\"'`;|<>:]{6,100})",
        is_called_password,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a password in a command",
        r"(?i)\b(?:add_user|change_password|adduser|user[ \t]+(?:create|add)|radtest|net[ \t]+user|user:"
        r"|htpasswd[ \t]+-\w*b\w*(?:[ \t]+-\w+)*[ \t]+\S+|chap|ppp)[ \t]*[\"']?[\w.@\\-]{1,60}[\"']?[ \t]+[\"']?"
        r"([^\s\"'`;|<>]{6,100})",
        is_called_password,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a password in a command",
        r"(?i)\bnet[ \t]+use[ \t]+(?:[^\s\"']+[ \t]+){1,2}[\"']?([^\s\"'/*\\][^\s\"']{5,99})[\"']?[ \t]+/user:"
        r"|\b(?:lftp|ncftp\w*|mirror)[ \t][^\n]{0,100}?-u[ \t]*[\"']?[\w.@-]{1,40},([^\s\"'`;|<>]{6,100})",
        is_called_password,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a secret in a command",
        r"\bmc[ \t]+(?:alias[ \t]+set|config[ \t]+host[ \t]+add)[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+[\"']?" + _VALUE,
        is_called_secret,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a password in a command",
        r"(?i)[ \t]/(?:p|pw|pass|password|rp):[\"']?" + _VALUE,
        is_called_password,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a password in a command",
        r"\b(?:echo"
        r"|printf)[ \t]+(?:-\w+[ \t]+)?(?:[\"'][^\"'\n]{0,8}[\"'][ \t]+)?[\"']?(?:[\w.-]{1,40}:)?"
        r"([^\s\"'|:]{6,100})[\"']?[ \t]*\|"
        r"[^\n]{0,120}?(?:[ \t]-S\b|stdin|\bchpasswd|\bpasswd|passphrase|cryptsetup|kinit|[ \t]login|vncpasswd"
        r"|[ \t]-pass|gpg|htpasswd|smbpasswd|\bsecret)",
        is_called_password,
        paths=_SCRIPT,
    ),
    SecretRule(
        "a secret in a command",
        r"(?i)(?:password|secret|token|securestring)[^\n]{0,80}?[ \t]--(?:value|secret-string|data|text|string|body"
        r"|literal)[ =][\"']?" + _VALUE,
        is_called_secret,
    ),
    # `--set auth.rootPassword=...`, `--from-literal=password=...`, `-Ddb.password=...`, `password=...` of any command.
    SecretRule(
        "a password in a command",
        r"(?i)[ \t=,](?:-[A-Z])?[\w.\[\]-]{0,60}?(?:" + PASSWORD + "|" + SECRET + r")=[\"']?([^\s\"'`;|<>,&]{6,100})",
        is_called_secret,
        paths=_SCRIPT,
    ),
)

_OPTIONS: tuple[SecretRule, ...] = (
    SecretRule(
        "a password in a command",
        r"(?i)(?:^|[\s\"'`=,(])(?:--?|/)(?:[\w.-]{1,40}[_.-])?(?:password|passwd|passphrase|pass|pwd|rp|storepass"
        r"|keypass|[a-z]{1,8}password|[a-z]{1,8}pass)\d?" + _GAP + r"(?:pass:)?" + _VALUE,
        is_called_password,
    ),
    SecretRule(
        "a secret in a command",
        r"(?i)(?:^|[\s\"'`=,(])--(?:[\w.-]{1,40}[_.-])?(?:token|secret|api-?key|secret-key|access-key|auth-key"
        r"|private-key|body)" + _GAP + _VALUE,
        is_called_secret,
    ),
    SecretRule(
        "a password in a command",
        r"(?i)\bconvertto-securestring(?:[ \t]+-\w+)*[ \t]+[\"']([^\s\"']{6,100})[\"']"
        r"|[\"']([^\s\"']{6,100})[\"'][ \t]*\|[ \t]*convertto-securestring",
        is_called_password,
    ),
    SecretRule(
        "a secret in a command",
        r"(?i)\buser-secrets[ \t]+set[ \t]+[\"']?[\w:.-]+[\"']?[ \t]+[\"']?" + _VALUE,
        is_called_secret,
    ),
)

LOGINS = (
    Family(
        r"(?i)(?:log_?(?:in|on)|sign_?in|auth\w{0,12}|basic\w{0,12}|credentials?\w{0,6}|bind\w{0,3}|entry|passw\w{0,10}"
        r"|_pw\w{0,6}|pass_|unlock|unprotect|account"
        r"|user|connect\w{0,10}|mysqli|pdo|dial|database|open|begin|(?:client|api|provider|\bs3|\bgcs|blob|bucket|storage)\w{0,12}|otp\w{0,12}|(?:jw[tse]|jose"
        r"|hmac|aes|des|cipher|rc4|blowfish|sign|verify)[\w.]{0,12}"
        r"|tochararray|crypt\w{0,6}|cookie\w{0,8}|fernet|secretbox)[ \t]?\(|\b(?:auth|login|basic_?auth|credentials"
        r"|creds)[\"']?[ \t]*[=:][ \t]*[(\[{]"
        r"|\.(?:basic_?auth|auth|authenticate|log_?in|sign_?in)[ \t]+[\"']"
        r"|(?:client|api)\w{0,8}[ \t]?=[^\n;=]{1,60}\([\"']|provider[ \t]:|\bnew[ \t]\w+\([\"']|\b(?:open"
        r"|connect)[ \t]+\"",
        tuple(replace(rule, needs=_NO_NAME) for rule in _CALLS),
    ),
    Family(
        r"(?i)[ \t\"'](?:-u|--?user|--login|-D)|\buser[ =:]|\b(?:zip|unzip|7z[azr]?|rar|sshpass|redis-cli|openssl"
        r"|mysql\w*|mariadb\w*|ldap\w+|sqlcmd|bcp|isql|mongo\w*"
        r"|cqlsh|influx|x?freerdp|rdesktop|ipmitool|snmp\w+|plink|pscp|psexec|keytool|jarsigner|htpasswd|qpdf"
        r"|rclone|curl|https?|wget|xh|mc)[ \t]"
        r"|--(?:value|secret-string|data|text|string|body|literal)[ =]|add_?user|net[ \t]+use[ \t]"
        r"|user[ \t]+(?:create|add)|radtest|change_password|/(?:p|pw|pass|password|rp):"
        r"|\b(?:echo|printf)[ \t]+[^\n|]*\||(?:pass|pwd|secret|token"
        r"|key)\w{0,12}=",
        _COMMANDS,
        paths=_SCRIPT,
    ),
    Family(
        r"(?i)(?:-|/)[\w.-]{0,40}(?:pass|pwd|rp|token|secret|key|body|value|string|data|text"
        r"|literal)[\w]{0,6}(?:[ \t=:\"']|$)|securestring|user-secrets",
        _OPTIONS,
    ),
)
