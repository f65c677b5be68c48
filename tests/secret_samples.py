"""Made-up secrets of every kind in the places where people leave them, from the public description of each format.

They were written before any rule was read. The shapes of files named in `HELD_OUT` were not used to choose the rules,
so they show how a rule does on unknown files. This file contains no secret: each is put together when it is requested.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
HEX = DIGITS + "abcdef"
BASE64 = ALNUM + "+/"
URLSAFE = ALNUM + "-_"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"


@dataclass(frozen=True, slots=True)
class Sample:
    """`fragments`: none of them may remain in what is stored. `shape` is the kind of file around the secret."""

    kind: str
    shape: str
    path: str
    text: str
    fragments: tuple[str, ...]


Value: TypeAlias = Callable[[random.Random], str]
Shape: TypeAlias = Callable[[str, str, random.Random], tuple[str, str]]


def run(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def made(pattern: str, **alphabets: str) -> Value:
    """A value from a pattern like `ghp_{a:36}`; the letter before the colon names an alphabet."""
    known = {"a": ALNUM, "h": HEX, "u": URLSAFE, "b": BASE64, "d": DIGITS, "U": UPPER + DIGITS, "l": LOWER + DIGITS}
    known |= alphabets

    def make(rng: random.Random) -> str:
        parts = []
        for piece in pattern.split("{"):
            head, brace, tail = piece.partition("}")
            name, _, length = head.partition(":")
            parts.append(run(rng, known[name], int(length)) + tail if brace else head)
        return "".join(parts)

    return make


def one_of(*values: Value) -> Value:
    return lambda rng: rng.choice(values)(rng)


def encoded(value: Value) -> Value:
    return lambda rng: base64.b64encode(value(rng).encode()).decode()


def uuid(rng: random.Random) -> str:
    return "-".join(run(rng, HEX, length) for length in (8, 4, 4, 4, 12))


def mixed(rng: random.Random, alphabet: str, length: int) -> str:
    """Returns a password as a generator makes it, with letters of both cases and digits."""
    while True:
        value = run(rng, alphabet, length)
        if all(any(c in value for c in some) for some in (LOWER, UPPER, DIGITS)):
            return value


def signed(rng: random.Random) -> str:
    parts = {"alg": "HS256", "typ": "JWT"}, {"sub": run(rng, DIGITS, 10), "iat": 1716239022, "role": "admin"}
    head, claims = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{claims}.{run(rng, URLSAFE, 43)}"


# ---------------------------------------------------------------- the places


def snake(name: str) -> str:
    return name.lower()


def camel(name: str) -> str:
    head, *rest = name.lower().split("_")
    return head + "".join(word.capitalize() for word in rest)


SHAPES: dict[str, Shape] = {
    "python": lambda n, v, r: (
        "src/app.py",
        f'import os\n\nDEBUG = False\n{n} = "{v}"\n\n\ndef run() -> None:\n    go()\n',
    ),
    "python-call": lambda n, v, r: ("app/client.py", f"client = Client(\n    timeout=30,\n    {snake(n)}='{v}',\n)\n"),
    "javascript": lambda n, v, r: (
        "lib/a.js",
        f"const x = require('x');\nconst {camel(n)} = '{v}';\nmodule.exports = x;\n",
    ),
    "json": lambda n, v, r: ("config/a.json", f'{{\n  "name": "app",\n  "{camel(n)}": "{v}",\n  "port": 80\n}}\n'),
    "yaml": lambda n, v, r: ("deploy/values.yaml", f"app:\n  port: 80\n  {snake(n)}: {v}\n  debug: false\n"),
    "go": lambda n, v, r: ("main.go", f'package main\n\nconst (\n\t{camel(n)} = "{v}"\n\tport = 80\n)\n'),
    "shell": lambda n, v, r: ("bin/run.sh", f"#!/bin/sh\nset -e\nexport {n}={v}\nexec ./app\n"),
    "properties": lambda n, v, r: ("app.properties", f"server.port=80\n{snake(n).replace('_', '.')}={v}\nx=1\n"),
    "dockerfile": lambda n, v, r: ("Dockerfile", f"FROM alpine:3\nENV {n}={v}\nCOPY . /app\n"),
    # ------------------------------------------------------------ held out
    "ruby": lambda n, v, r: ("config/initializers/a.rb", f"Rails.configure do |c|\n  c.{snake(n)} = '{v}'\nend\n"),
    "ruby-hash": lambda n, v, r: ("lib/a.rb", f"OPTIONS = {{\n  host: 'a',\n  {snake(n)}: '{v}',\n}}.freeze\n"),
    "rust": lambda n, v, r: ("src/main.rs", f'use std::env;\n\nconst {n}: &str = "{v}";\n\nfn main() {{}}\n'),
    "php": lambda n, v, r: ("config/a.php", f"<?php\nreturn [\n    '{snake(n)}' => '{v}',\n    'a' => 1,\n];\n"),
    "php-define": lambda n, v, r: ("wp-config.php", f"<?php\ndefine( '{n}', '{v}' );\ndefine( 'WP_DEBUG', false );\n"),
    "java": lambda n, v, r: ("src/A.java", f'class A {{\n    private static final String {n} = "{v}";\n}}\n'),
    "kotlin": lambda n, v, r: ("src/A.kt", f'object A {{\n    const val {n} = "{v}"\n}}\n'),
    "csharp": lambda n, v, r: ("src/A.cs", f'class A {{\n    const string {camel(n)} = @"{v}";\n}}\n'),
    "ini": lambda n, v, r: ("conf/app.ini", f"[main]\nport = 80\n{snake(n)} = {v}\n\n[other]\na = b\n"),
    "toml": lambda n, v, r: ("config/app.toml", f'[app]\nport = 80\n{snake(n)} = "{v}"\n'),
    "terraform": lambda n, v, r: ("infra/main.tf", f'provider "x" {{\n  region = "eu"\n  {snake(n)}  = "{v}"\n}}\n'),
    "compose": lambda n, v, r: (
        "docker-compose.yml",
        f"services:\n  a:\n    image: a\n    environment:\n      - {n}={v}\n",
    ),
    "workflow": lambda n, v, r: (
        ".github/workflows/a.yml",
        f"jobs:\n  a:\n    env:\n      {n}: '{v}'\n    steps: []\n",
    ),
    "docker-two-words": lambda n, v, r: ("Dockerfile.prod", f"FROM alpine:3\nENV {n} {v}\nCMD ['a']\n"),
    "docker-arg": lambda n, v, r: ("build/Dockerfile", f'FROM alpine:3\nARG {n}="{v}"\nRUN make\n'),
    "swift": lambda n, v, r: ("Sources/A.swift", f'import X\n\nlet {camel(n)}: String = "{v}"\n'),
    "elixir": lambda n, v, r: ("config/prod.exs", f'import Config\n\nconfig :app, App,\n  {snake(n)}: "{v}"\n'),
    "make": lambda n, v, r: ("Makefile", f"all: build\n\n{n} := {v}\n\nbuild:\n\tgo build\n"),
    "envrc": lambda n, v, r: (".envrc", f"use nix\nexport {n}={v}\n"),
    "env": lambda n, v, r: ("prod.env", f"PORT=80\n{n}={v}\nDEBUG=0\n"),
    "xml": lambda n, v, r: ("conf/a.xml", f"<config>\n  <port>80</port>\n  <{camel(n)}>{v}</{camel(n)}>\n</config>\n"),
    "js-env": lambda n, v, r: ("lib/b.ts", f'export const config = {{ {camel(n)}: process.env.{n} || "{v}" }};\n'),
    "notebook": lambda n, v, r: ("a.ipynb", f'{{"cells": [{{"source": ["{snake(n)} = \\"{v}\\"\\n"]}}]}}\n'),
    # ------------------------------------------------------------ held out, thought of after the first measurement
    "kubernetes-env": lambda n, v, r: (
        "k8s/a.yaml",
        f"spec:\n  env:\n  - name: {n}\n    value: {v}\n  - name: A\n    value: b\n",
    ),
    "kubernetes-env-quoted": lambda n, v, r: ("k8s/b.yaml", f'env:\n- name: {n}\n  value: "{v}"\n'),
    "environ": lambda n, v, r: ("a.py", f'import os\n\nos.environ["{n}"] = "{v}"\n'),
    "getenv": lambda n, v, r: ("a.py", f'import os\n\nvalue = os.getenv("{n}", "{v}")\n'),
    "python-dict": lambda n, v, r: ("a.py", f"CONFIG = {{'host': 'a', '{snake(n)}': '{v}', 'port': 80}}\n"),
    "typescript": lambda n, v, r: (
        "src/a.ts",
        f'export class A {{\n  private readonly {camel(n)}: string = "{v}";\n}}\n',
    ),
    "go-struct": lambda n, v, r: (
        "a.go",
        f'cfg := Config{{\n\tHost: "a",\n\t{camel(n)[0].upper() + camel(n)[1:]}: "{v}",\n}}\n',
    ),
    "c-define": lambda n, v, r: ("a.h", f'#pragma once\n#define {n} "{v}"\n#define PORT 80\n'),
    "powershell": lambda n, v, r: ("a.ps1", f'$env:{n} = "{v}"\n./run.ps1\n'),
    "lua": lambda n, v, r: ("a.lua", f"local {snake(n)} = '{v}'\nreturn {snake(n)}\n"),
    "perl": lambda n, v, r: ("a.pl", f"use strict;\nmy ${snake(n)} = '{v}';\n"),
    "groovy": lambda n, v, r: ("Jenkinsfile", f"environment {{\n  {n} = '{v}'\n}}\n"),
    "scala": lambda n, v, r: ("A.scala", f'object A {{\n  val {camel(n)}: String = "{v}"\n}}\n'),
    "tfvars": lambda n, v, r: ("prod.tfvars", f'region = "eu"\n{snake(n)} = "{v}"\n'),
    "nix": lambda n, v, r: ("a.nix", f'{{\n  services.app.{camel(n)} = "{v}";\n}}\n'),
    "comment": lambda n, v, r: ("a.rs", f"// {n}: {v}\nfn main() {{}}\n"),
    "markdown": lambda n, v, r: ("README.md", f"# App\n\nStart it with:\n\n    {n}={v} ./run\n"),
    "html": lambda n, v, r: ("a.html", f'<script src="a.js" data-{snake(n).replace("_", "-")}="{v}"></script>\n'),
    "inline-shell": lambda n, v, r: ("run.sh", f"#!/bin/sh\n{n}='{v}' HOST=a ./run --fast\n"),
    "docker-run": lambda n, v, r: ("run.sh", f"docker run -d -e {n}={v} -p 80:80 app\n"),
    "json-in-string": lambda n, v, r: ("a.js", f'const body = "{{\\"{camel(n)}\\": \\"{v}\\"}}";\n'),
    "spring": lambda n, v, r: ("application.yml", f'spring:\n  {snake(n).replace("_", "-")}: "{v}"\n  a: b\n'),
    "systemd": lambda n, v, r: ("a.service", f"[Service]\nEnvironment={n}={v}\nExecStart=/bin/a\n"),
    "systemd-quoted": lambda n, v, r: ("b.service", f'[Service]\nEnvironment="{n}={v}"\n'),
    "list-of-pairs": lambda n, v, r: ("a.json", f'[{{"name": "{n}", "value": "{v}"}}]\n'),
}
_ORDER = list(SHAPES)
HELD_OUT = frozenset(_ORDER[_ORDER.index("ruby") :])
LATER = frozenset(_ORDER[_ORDER.index("kubernetes-env") :])


# ---------------------------------------------------------------- kinds that stand in any place: name, value

TOKENS: dict[str, tuple[str, Value]] = {
    "AWS access key id": (
        "AWS_ACCESS_KEY_ID",
        one_of(made("AKIA{x:16}", x=UPPER + "234567"), made("ASIA{x:16}", x=UPPER + "234567")),
    ),
    "AWS secret key": ("AWS_SECRET_ACCESS_KEY", made("{b:40}")),
    "GitHub token": (
        "GITHUB_TOKEN",
        one_of(made("ghp_{a:36}"), made("gho_{a:36}"), made("ghs_{a:36}"), made("ghr_{a:36}")),
    ),
    "GitHub fine-grained token": ("GH_TOKEN", made("github_pat_{a:22}_{a:59}")),
    "GitLab token": (
        "GITLAB_TOKEN",
        one_of(made("glpat-{u:20}"), made("glptt-{h:40}"), made("gldt-{u:20}"), made("glrt-{u:20}")),
    ),
    "Slack bot token": ("SLACK_BOT_TOKEN", made("xoxb-{d:12}-{d:13}-{a:24}")),
    "Slack user token": ("SLACK_TOKEN", made("xoxp-{d:12}-{d:12}-{d:12}-{h:32}")),
    "Slack app token": ("SLACK_APP_TOKEN", made("xapp-1-A{U:10}-{d:13}-{h:64}")),
    "Slack webhook": ("SLACK_WEBHOOK_URL", made("https://hooks.slack.com/services/T{U:10}/B{U:10}/{a:24}")),
    "Stripe key": (
        "STRIPE_SECRET_KEY",
        one_of(made("sk_live_{a:24}"), made("rk_live_{a:24}"), made("sk_live_51{a:97}")),
    ),
    "Stripe webhook secret": ("STRIPE_WEBHOOK_SECRET", made("whsec_{a:32}")),
    "Svix webhook secret": ("WEBHOOK_SECRET", made("whsec_{b:43}=")),
    "Google API key": ("GOOGLE_API_KEY", made("AIza{u:35}")),
    "Google OAuth secret": ("GOOGLE_CLIENT_SECRET", made("GOCSPX-{u:28}")),
    "Anthropic key": ("ANTHROPIC_API_KEY", made("sk-ant-api03-{u:93}AA")),
    "OpenAI project key": ("OPENAI_API_KEY", made("sk-proj-{u:74}T3BlbkFJ{u:74}")),
    "OpenAI key": ("OPENAI_API_KEY", made("sk-{a:20}T3BlbkFJ{a:20}")),
    "npm token": ("NPM_TOKEN", made("npm_{a:36}")),
    "PyPI token": ("PYPI_TOKEN", made("pypi-AgEIcHlwaS5vcmc{u:150}")),
    "SendGrid key": ("SENDGRID_API_KEY", made("SG.{u:22}.{u:43}")),
    "Hugging Face token": ("HF_TOKEN", made("hf_{x:34}", x=LOWER + UPPER)),
    "DigitalOcean token": ("DIGITALOCEAN_TOKEN", one_of(made("dop_v1_{h:64}"), made("doo_v1_{h:64}"))),
    "Azure storage key": (
        "AZURE_STORAGE_CONNECTION_STRING",
        made(
            "DefaultEndpointsProtocol=https;AccountName=prodstore;AccountKey={b:86}==;EndpointSuffix=core.windows.net"
        ),
    ),
    "Azure AD client secret": ("AZURE_CLIENT_SECRET", made("{a:3}8Q~{x:34}", x=URLSAFE + ".~")),
    "JWT": ("AUTH_TOKEN", signed),
    "Twilio key": ("TWILIO_API_KEY", made("SK{h:32}")),
    "Twilio auth token": ("TWILIO_AUTH_TOKEN", made("{h:32}")),
    "Mailgun key": ("MAILGUN_API_KEY", made("key-{h:32}")),
    "Mailchimp key": ("MAILCHIMP_API_KEY", made("{h:32}-us14")),
    "Telegram bot token": ("TELEGRAM_BOT_TOKEN", made("{x:1}{d:9}:AA{u:33}", x="123456789")),
    "Discord bot token": ("DISCORD_TOKEN", made("M{a:25}.{u:6}.{u:38}")),
    "Discord webhook": ("DISCORD_WEBHOOK", made("https://discord.com/api/webhooks/{x:1}{d:18}/{u:68}", x="123456789")),
    "Shopify token": ("SHOPIFY_ACCESS_TOKEN", one_of(made("shpat_{h:32}"), made("shpss_{h:32}"), made("shpca_{h:32}"))),
    "Square token": ("SQUARE_ACCESS_TOKEN", one_of(made("sq0atp-{u:22}"), made("EAAA{u:60}"))),
    "Databricks token": ("DATABRICKS_TOKEN", made("dapi{h:32}")),
    "Doppler token": ("DOPPLER_TOKEN", made("dp.pt.{a:43}")),
    "Vault token": ("VAULT_TOKEN", made("hvs.{u:92}")),
    "Terraform Cloud token": ("TFE_TOKEN", made("{a:14}.atlasv1.{u:67}")),
    "Grafana token": ("GRAFANA_TOKEN", made("glsa_{a:32}_{h:8}")),
    "New Relic key": ("NEW_RELIC_API_KEY", made("NRAK-{U:27}")),
    "Linear key": ("LINEAR_API_KEY", made("lin_api_{a:40}")),
    "Notion token": ("NOTION_TOKEN", one_of(made("ntn_{d:11}{a:35}"), made("secret_{a:43}"))),
    "Figma token": ("FIGMA_TOKEN", made("figd_{u:40}")),
    "Atlassian token": ("JIRA_API_TOKEN", made("ATATT3xFfGF0{u:171}={U:8}")),
    "PlanetScale password": ("DATABASE_PASSWORD", made("pscale_pw_{u:43}")),
    "Supabase token": ("SUPABASE_ACCESS_TOKEN", made("sbp_{h:40}")),
    "Heroku key": ("HEROKU_API_KEY", uuid),
    "Datadog key": ("DATADOG_API_KEY", one_of(made("{h:32}"), made("{h:40}"))),
    "Cloudflare token": ("CLOUDFLARE_API_TOKEN", made("{u:40}")),
    "Postman key": ("POSTMAN_API_KEY", made("PMAK-{h:24}-{h:34}")),
    "Pulumi token": ("PULUMI_ACCESS_TOKEN", made("pul-{h:40}")),
    "RubyGems key": ("GEM_HOST_API_KEY", made("rubygems_{h:48}")),
    "age key": ("AGE_KEY", made("AGE-SECRET-KEY-1{x:58}", x=BECH32)),
    "hex key of 32": ("API_KEY", made("{h:32}")),
    "hex key of 64": ("ENCRYPTION_KEY", made("{h:64}")),
    "secret of 128 hex": ("SECRET_KEY_BASE", made("{h:128}")),
    "UUID as a key": ("API_KEY", uuid),
    "base64 key": ("SIGNING_SECRET", made("{b:43}=")),
    "password of 16": ("DB_PASSWORD", lambda r: mixed(r, ALNUM, 16)),
    "password of 12": ("ADMIN_PASSWORD", lambda r: mixed(r, ALNUM, 12)),
    "password of 20 with marks": ("MYSQL_ROOT_PASSWORD", lambda r: mixed(r, ALNUM + "!@%^*-_+=.~", 20)),
    "passphrase key of 24": ("CLIENT_SECRET", lambda r: mixed(r, ALNUM, 24)),
    "small letters and digits": ("SMTP_PASSWD", made("{l:18}")),
    "URL with a user": (
        "DATABASE_URL",
        lambda r: f"postgres://app:{mixed(r, ALNUM, r.randint(10, 20))}@db.internal.net:5432/app",
    ),
    "URL, host without dots": (
        "DATABASE_URL",
        lambda r: (
            f"{r.choice(['postgresql', 'mysql', 'mongodb', 'amqp'])}://root:{mixed(r, ALNUM, 14)}"
            f"@{r.choice(['localhost', 'db', 'mongo', '127.0.0.1'])}:5432/app"
        ),
    ),
    "URL without a user": (
        "REDIS_URL",
        lambda r: f"redis://:{mixed(r, ALNUM, 16)}@{r.choice(['cache', 'localhost', 'redis.prod.net'])}:6379/0",
    ),
    "URL with marks in it": (
        "AMQP_URL",
        lambda r: f"amqps://svc-user:{mixed(r, ALNUM + '!*-_~.', 16)}@mq.corp:5671/%2f",
    ),
    "URL with a token": ("REPOSITORY", lambda r: f"https://{run(r, ALNUM, 32)}:x-oauth-basic@git.corp.net/a/b.git"),
    "connection string": (
        "CONNECTION_STRING",
        lambda r: f"Server=tcp:db,1433;Database=app;User Id=sa;Password={mixed(r, ALNUM + '!-_', 14)};Encrypt=True",
    ),
}


# ---------------------------------------------------------------- kinds with a place of their own

Whole: TypeAlias = Callable[[random.Random], tuple[str, str, tuple[str, ...]]]


def pem(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    kind = rng.choice(["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA ", ""])
    lines = [run(rng, BASE64, 64) for _ in range(rng.randint(3, 25))]
    block = f"-----BEGIN {kind}PRIVATE " + "KEY-----\n" + "\n".join(lines) + f"\n-----END {kind}PRIVATE KEY-----\n"
    path, text = rng.choice(
        [
            ("a.txt", block),
            ("lib/a.py", f'KEY = """{block}"""\n'),
            ("c.yaml", "key: |\n" + "".join(f"  {line}\n" for line in block.splitlines())),
            ("c.json", '{"key": "' + block.replace("\n", "\\n") + '"}\n'),
            ("a.go", "".join(f'\t"{line}\\n" +\n' for line in block.splitlines())),
        ]
    )
    return path, text, tuple(lines)


def pgp(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    lines = [run(rng, BASE64, 64) for _ in range(12)]
    head = (
        "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\n" + rng.choice(["", "Version: GnuPG v2\n", "Comment: x\n"]) + "\n"
    )
    return "keys.txt", head + "\n".join(lines) + "\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----\n", tuple(lines)


def putty(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    public, private = [run(rng, BASE64, 64) for _ in range(6)], [run(rng, BASE64, 64) for _ in range(8)]
    kind = rng.choice(["ssh-rsa", "ssh-ed25519"])
    text = (
        f"PuTTY-User-Key-File-{rng.choice('23')}: {kind}\nEncryption: none\nComment: a\nPublic-Lines: 6\n"
        + "\n".join(public)
        + "\nPrivate-Lines: 8\n"
        + "\n".join(private)
        + f"\nPrivate-MAC: {run(rng, HEX, 40)}\n"
    )
    return rng.choice(["key.ppk", "deploy/key.txt"]), text, tuple(private)


def age(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    key = "AGE-SECRET-" + f"KEY-1{run(rng, BECH32, 58)}"
    return (
        rng.choice(["keys.txt", "age/key.txt"]),
        f"# created: 2024-01-01\n# public key: age1{run(rng, BECH32.lower(), 58)}\n{key}\n",
        (key,),
    )


def wireguard(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    key, preshared = run(rng, BASE64, 43) + "=", run(rng, BASE64, 43) + "="
    text = (
        f"[Interface]\nPrivateKey = {key}\nAddress = 10.0.0.2/24\n\n[Peer]\nPublicKey = {run(rng, BASE64, 43)}=\n"
        f"PresharedKey = {preshared}\nAllowedIPs = 0.0.0.0/0\n"
    )
    return rng.choice(["wg0.conf", "vpn/office.conf", "client.conf"]), text, (key, preshared)


def aws_ini(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    key, token = run(rng, BASE64, 40), run(rng, BASE64, 300)
    text = f"[default]\naws_access_key_id = AKIA{run(rng, UPPER + '234567', 16)}\naws_secret_access_key = {key}\n"
    if rng.random() < 0.5:
        return rng.choice(["aws.ini", "conf/credentials"]), text + f"aws_session_token = {token}\n", (key, token)
    return rng.choice(["aws.ini", ".aws/config"]), text, (key,)


def kubeconfig(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    data = run(rng, BASE64, 400)
    user = rng.choice([f"client-key-data: {data}", f"token: {data[:64]}", f"password: {data[:20]}"])
    text = (
        "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: https://10.0.0.1:6443\n  name: prod\n"
        f"users:\n- name: admin\n  user:\n    {user}\n"
    )
    return (
        rng.choice([".kube/config", "prod-kubeconfig.yaml", "admin.conf", "k8s/cluster.yaml"]),
        text,
        (user.split(": ")[1],),
    )


def docker_auth(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    auth = base64.b64encode(f"robot:{run(rng, ALNUM, 20)}".encode()).decode()
    text = f'{{\n\t"auths": {{\n\t\t"registry.corp.net": {{\n\t\t\t"auth": "{auth}"\n\t\t}}\n\t}}\n}}\n'
    return rng.choice([".docker/config.json", "docker-config.json", ".dockerconfigjson", "ci/auth.json"]), text, (auth,)


def header(name: str, scheme: str, value: Value) -> Whole:
    def make(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
        secret = value(rng)
        forms = [
            ("a.py", f'headers = {{"{name}": "{scheme}{secret}", "Accept": "*/*"}}\n'),
            ("a.js", f"fetch(url, {{ headers: {{ '{name}': '{scheme}{secret}' }} }});\n"),
            ("a.sh", f"curl -s -H '{name}: {scheme}{secret}' https://api.corp.net/v1/users\n"),
            ("a.http", f"GET https://api.corp.net/v1/users HTTP/1.1\nHost: api.corp.net\n{name}: {scheme}{secret}\n"),
            ("README.md", f'```sh\ncurl --header "{name}: {scheme}{secret}" https://api.corp.net\n```\n'),
            ("A.java", f'request.setHeader("{name}", "{scheme}{secret}");\n'),
            ("a.go", f'req.Header.Set("{name}", "{scheme}{secret}")\n'),
            ("a.yaml", f"headers:\n  {name}: {scheme}{secret}\n"),
            ("a.rb", f"request['{name}'] = \"{scheme}{secret}\"\n"),
            ("a.cs", f'client.DefaultRequestHeaders.Add("{name}", "{scheme}{secret}");\n'),
        ]
        return (*rng.choice(forms), (secret,))

    return make


def npmrc(line: str, value: Value) -> Whole:
    def make(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
        secret = value(rng)
        path = rng.choice([".npmrc", "packages/a/.npmrc", "docker/npmrc"])
        return path, f"registry=https://npm.corp.net/\n{line}{secret}\nalways-auth=true\n", (secret,)

    return make


def in_file(forms: list[tuple[str, str]], value: Value) -> Whole:
    """`@` stands for the secret."""

    def make(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
        secret = value(rng)
        path, text = rng.choice(forms)
        return path, text.replace("@@", secret), (secret,)

    return make


def password(rng: random.Random) -> str:
    return mixed(rng, ALNUM, rng.randint(12, 20))


def service_account(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    lines = [run(rng, BASE64, 64) for _ in range(20)]
    key = "-----BEGIN PRIVATE " + "KEY-----\\n" + "\\n".join(lines) + "\\n-----END PRIVATE KEY-----\\n"
    text = (
        f'{{\n  "type": "service_account",\n  "private_key_id": "{run(rng, HEX, 40)}",\n  "private_key": "{key}"\n}}\n'
    )
    return rng.choice(["gcp.json", "keys/prod.json"]), text, tuple(lines)


FILES: dict[str, Whole] = {
    "PEM private key": pem,
    "PGP private key": pgp,
    "PuTTY key": putty,
    "age key file": age,
    "WireGuard": wireguard,
    "AWS ini": aws_ini,
    "kubeconfig": kubeconfig,
    "docker auth": docker_auth,
    "GCP service account": service_account,
    "Bearer header": header("Authorization", "Bearer ", one_of(made("{a:40}"), made("{u:32}"), made("{h:64}"))),
    "Basic header": header("Authorization", "Basic ", encoded(lambda r: f"admin:{password(r)}")),
    "X-API-Key header": header("X-API-Key", "", one_of(made("{a:40}"), made("{h:32}"))),
    "npm _auth": npmrc("_auth=", encoded(lambda r: f"admin:{password(r)}")),
    "npm scoped _auth": npmrc("//npm.corp.net/:_auth=", encoded(lambda r: f"admin:{password(r)}")),
    "npm _authToken": npmrc("//npm.corp.net/:_authToken=", one_of(uuid, made("{a:36}"))),
    "npm _password": npmrc("//npm.corp.net/:_password=", encoded(password)),
    "env file": in_file(
        [
            (path, f"HOST=a\n{name}=@@\nPORT=1\n")
            for path in ("prod.env", "config/app.env", ".env", ".env.staging", "docker/db.env")
            for name in ("DB_PASSWORD", "SECRET", "PGPASSWORD", "APP_KEY")
        ],
        password,
    ),
    "envrc": in_file(
        [(".envrc", f"layout python\nexport {name}=@@\n") for name in ("DB_PASSWORD", "PGPASSWORD", "API_TOKEN")]
        + [("svc/.envrc", "export SECRET_KEY='@@'\n")],
        password,
    ),
    "shell export": in_file(
        [
            ("run.sh", f"#!/bin/bash\nexport {name}={quote}@@{quote}\n./run\n")
            for quote in ("", '"', "'")
            for name in ("DB_PASSWORD", "PGPASSWORD", "API_SECRET", "AUTH_TOKEN")
        ]
        + [("setup", "export MYSQL_PWD=@@\n"), (".bashrc", "alias a=b\nexport VAULT_SECRET=@@\n")],
        password,
    ),
    "Docker ENV": in_file(
        [
            ("Dockerfile", "FROM a\nENV DB_PASSWORD=@@ PORT=80\n"),
            ("Dockerfile", "FROM a\nENV DB_PASSWORD @@\n"),
            ("api/Dockerfile", "FROM a\nENV A=1 \\\n    SECRET_KEY=@@\n"),
            ("x.dockerfile", "FROM a\nARG TOKEN=@@\n"),
        ],
        password,
    ),
    "Maven settings": in_file(
        [("settings.xml", "<server>\n  <id>a</id>\n  <username>u</username>\n  <password>@@</password>\n</server>\n")],
        password,
    ),
    "NuGet config": in_file(
        [
            (
                "NuGet.Config",
                '<a>\n  <add key="Username" value="u" />\n  <add key="ClearTextPassword" value="@@" />\n</a>\n',
            )
        ],
        password,
    ),
    "web.config": in_file(
        [("web.config", '<appSettings>\n  <add key="ApiSecret" value="@@" />\n</appSettings>\n')], password
    ),
    "curl with a login": in_file(
        [
            ("a.sh", "curl -u admin:@@ https://api.corp.net/v1\n"),
            ("README.md", "    curl --user 'ci-bot:@@' https://api.corp.net/v1\n"),
            ("a.sh", "curl -sSu deploy:@@ -X POST https://a.corp/x\n"),
        ],
        password,
    ),
    "command line password": in_file(
        [
            ("a.sh", "mysql -uroot -p@@ app < dump.sql\n"),
            ("a.sh", "docker login -u ci --password @@ registry.corp.net\n"),
            ("a.sh", "psql --password=@@ -h db\n"),
            ("a.sh", "sshpass -p '@@' ssh a@b\n"),
        ],
        password,
    ),
    "pgpass": in_file([(".pgpass", "db:5432:app:app:@@\n")], password),
    "netrc": in_file(
        [(".netrc", "machine a.net login u password @@\n"), ("ci/netrc", "machine a.net\n  login u\n  password @@\n")],
        password,
    ),
    "Kubernetes secret": in_file(
        [
            ("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  password: @@\n"),
            ("k8s/a.yml", "kind: Secret\ntype: Opaque\nstringData:\n  db-password: @@\n"),
        ],
        encoded(password),
    ),
    "Ansible variable": in_file(
        [
            ("group_vars/all.yml", "db_user: app\ndb_password: '@@'\n"),
            ("hosts.ini", "[db]\na ansible_host=1.2.3.4 ansible_password=@@\n"),
        ],
        password,
    ),
    "pip index URL": in_file(
        [
            ("pip.conf", "[global]\nindex-url = https://ci:@@@pypi.corp.net/simple\n"),
            ("requirements.txt", "--extra-index-url https://ci:@@@pypi.corp.net/simple\na==1\n"),
        ],
        password,
    ),
    "git remote": in_file(
        [
            ("a.gitconfig", '[remote "origin"]\n\turl = https://ci:@@@git.corp.net/a.git\n'),
            ("clone.sh", "git clone https://oauth2:@@@gitlab.corp.net/a/b.git\n"),
        ],
        made("{a:24}"),
    ),
}


def fragments_of(value: str, kind: str) -> str:
    """Returns the part of a value that must not remain: the password of a URL or connection string, otherwise the
    second half."""
    if kind == "URL with a token":
        return value.split("//")[1].split(":", maxsplit=1)[0]
    if kind.startswith("URL"):
        return value.split("//")[1].rsplit("@", 1)[0].split(":", 1)[1]
    if kind == "connection string":
        return value.split("Password=")[1].split(";", maxsplit=1)[0]
    if kind == "Azure storage key":
        return value.split("AccountKey=")[1].split(";", maxsplit=1)[0]
    return value[len(value) // 2 :]


def samples(kind: str, count: int, seed: int = 1, shapes: frozenset[str] | None = None) -> Iterator[Sample]:
    """`count` samples of a kind, each time the same ones. `shapes`: only these; kinds with a place have none."""
    rng = random.Random(f"{kind} {seed}")
    for _ in range(count):
        if kind in FILES:
            path, text, fragments = FILES[kind](rng)
            yield Sample(kind, "own", path, text, fragments)
        else:
            name, value = TOKENS[kind][0], TOKENS[kind][1](rng)
            shape = rng.choice([shape for shape in SHAPES if shapes is None or shape in shapes])
            path, text = SHAPES[shape](name, value, rng)
            yield Sample(kind, shape, path, text, (fragments_of(value, kind),))


def kinds() -> list[str]:
    return [*TOKENS, *FILES]
