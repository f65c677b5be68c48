"""What is withheld or masked, and what only looks like a secret. Tokens are put together here, so that no file contains
one."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import subprocess
import sys
from typing import Any

import pytest

from sidecar.parts.secrets import MOST_MASKED, examine
from sidecar.parts.secrets.names import secret_name
from sidecar.parts.secrets.rules import Place, look_through, rules
from tests.examples import examples
from tests.secret_places import SETS, place_samples, places
from tests.secret_samples import kinds, samples

LETTERS = string.ascii_letters + string.digits


def noise(length: int, alphabet: str = LETTERS, seed: int = 3) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


def reason_of(path: str, text: str) -> str | None:
    """Returns the first reason why a part of a file may not be kept; None if all of it may."""
    examined = examine(path, text)
    return examined.withheld or next(iter(examined.reasons), None)


def private_key(kind: str = "RSA ", extra: str = "") -> str:
    body = base64.b64encode(hashlib.sha512(b"a").digest() * 4).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {kind}PRIVATE " + f"KEY-----\n{extra}{lines}\n-----END {kind}PRIVATE KEY-----\n"


@pytest.mark.process
def test_a_process_that_has_loaded_what_parses_files_compiles_no_rule_for_the_first_one() -> None:
    """To compile the rules takes a fifth of a second, for which the first saved file would wait."""
    code = (
        "from sidecar.engine.wiring import load_parsers\n"
        "load_parsers()\n"
        "from sidecar.parts.secrets import examine, rules\n"
        "rules.re2 = None\n"
        "print(examine('src/login.py', 'user, password = read()\\ntoken = 12\\n'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "SecretScan" in done.stdout, done.stderr


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
def test_a_token_is_hidden_in_its_file_and_never_repeated(kind: str) -> None:
    examined = examine("src/app.py", f"import os\n\nvalue = '{TOKENS[kind]}'\n")
    (reason,) = examined.reasons
    assert reason.startswith("line 3: ")
    assert not examined.withheld
    for shown in (reason, examined.text):
        assert TOKENS[kind].partition("@db")[0][-12:] not in shown


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
def test_a_private_key_withholds_the_file(kind: str) -> None:
    assert reason_of("a.txt", "x\n" + private_key(kind)) == "line 2: a private key"


def test_a_private_key_is_seen_in_a_string_with_escapes_and_behind_headers() -> None:
    assert reason_of("a.json", private_key().replace("\n", "\\n"))
    assert reason_of("a.txt", private_key(extra="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n"))


@pytest.mark.parametrize(
    "text",
    [
        'password = "' + "q7Zk2mV9" + 'xT4wLp0R"',
        '  "client_secret": "' + "q7Zk2mV9" + 'xT4wLp0R",',
        "const API_KEY = '" + "q7Zk2mV9" + "xT4wLp0R';",
        'AWS_SECRET_ACCESS_KEY = "' + noise(40) + '"',
    ],
)
def test_a_random_password_in_plain_text_is_no_text_to_keep(text: str) -> None:
    assert reason_of("src/settings.py", text) == "line 1: a password or key in plain text"
    assert reason_of("tests/settings.py", text) is None


def test_configuration_needs_no_quotes() -> None:
    line = "db.password=" + "q7Zk2mV9" + "xT4wLp0R\n"
    assert reason_of("app.properties", "# x\n" + line)
    assert reason_of(".env.example", line)
    assert reason_of("app.py", line) is None


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
    assert reason_of("src/scanner.py", text) is None


def test_an_npmrc_is_withheld_for_its_token_alone() -> None:
    assert reason_of(".npmrc", "save-exact=true\n") is None
    assert reason_of(".npmrc", "//registry.npmjs.org/:_authToken=" + noise(36) + "\n")


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "prod.env",
        "docker/db.env",
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
    assert (reason_of(path, "harmless") or "").startswith("by name: ")


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "sub/.env.sample",
        ".env.template",
        "id_rsa.pub",
        "environment.py",
        "keys.py",
        "example.env",
        "tls/cert.pem",
        "src/vite-env.d.ts",
        "src/credentials.py",
    ],
)
def test_names_that_do_not_withhold(path: str) -> None:
    assert secret_name(path) is None
    assert reason_of(path, "NAME=value\n") is None


def test_our_own_sources_are_not_withheld() -> None:
    from pathlib import Path

    root = Path(__file__).parents[2]
    sources = [*root.glob("sidecar/**/*.py"), *root.glob("tests/parts/*.py")]
    assert len(sources) > 10
    held = {path.name: reason_of(path.as_posix().removeprefix(f"{root}/"), path.read_text()) for path in sources}
    assert {name: reason for name, reason in held.items() if reason} == {}


# ------------------------------------------------- measured by kind; scripts/bench/check-secrets does it at length


@pytest.mark.parametrize("kind", kinds())
def test_of_every_kind_nearly_all_are_kept_from_the_index(kind: str) -> None:
    shown = []
    for sample in samples(kind, examples(40)):
        examined = examine(sample.path, sample.text)
        if not examined.withheld and any(fragment in examined.text for fragment in sample.fragments):
            shown.append(sample.text)
    assert len(shown) <= 2, shown


@pytest.mark.parametrize(("which", "kind"), [(which, kind) for which in SETS for kind in places(which)])
def test_in_every_kind_of_place_nearly_all_are_kept_from_the_index(which: str, kind: str) -> None:
    shown = []
    for sample in place_samples(which, kind, examples(24)):
        examined = examine(sample.path, sample.text)
        if not examined.withheld and any(fragment in examined.text for fragment in sample.fragments):
            shown.append(sample.text)
    assert len(shown) <= 2, shown


SECRET = "k8Jq2mZ" + "x9Lw4"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.sql", "CREATE USER app IDENTIFIED BY '{}';"),
        ("a.sql", "ALTER USER app WITH PASSWORD '{}';"),
        ("a.sh", "helm install app --set db.password={}"),
        ("a.py", "url = 'jdbc:mysql://db:3306/app?user=root&password={}'"),
        ("a.py", "requests.get(url, auth=('admin', '{}'))"),
        ("a.py", "smtp.login('bot@corp.net', '{}')"),
        ("a.xml", '<entry key="db.password">{}</entry>'),
        ("redis.conf", "requirepass {}"),
        ("a.sh", "export GITHUB_PAT={}"),
        ("a.cs", '"Server=db;User=app;Pwd={}"'),
        ("a.py", "url = 'https://:{}@cache'"),
        ("a.md", "Call it with `X-Api-Key: {0}{0}`."),
    ],
)
def test_a_password_is_hidden_wherever_people_leave_one(path: str, text: str) -> None:
    examined = examine(path, text.format(SECRET) + "\n")
    assert examined.text == text.format("*" * len(SECRET)) + "\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.groovy", 'new LoginCredentials(Scope.GLOBAL, "nexus", "deployer", "backend", "{}")'),
        ("user-data", "chpasswd:\n  list: |\n    app:{0}\n    mona:{0}"),
        ("a.el", '(setq account (list (:password . "{}")))'),
        ("a.yaml", "jwt:\n  issuer: shop\n  key: '{}'"),
        ("users", "mona@corp.net:{{PLAIN}}{}:1000"),
        ("a.ovpn", "<auth-user-pass>\nmona\n{}\n</auth-user-pass>"),
        ("a.ps1", "$p = '{}' | ConvertTo-SecureString -AsPlainText -Force"),
        ("a.conf", "store.secret.key {}7"),
        ("a.java", "/**\n * the admin password: {}\n */"),
    ],
)
def test_a_password_is_hidden_in_the_notation_of_any_tool(path: str, text: str) -> None:
    examined = examine(path, text.format(SECRET) + "\n")
    assert SECRET not in examined.text
    assert examined.text.count("\n") == text.count("\n") + 1


def test_a_recovery_phrase_is_hidden_although_it_consists_of_words() -> None:
    words = "winter purple otter sunny copper meadow falcon silver maple ginger rocket thunder"
    assert examine("a.js", f"const mnemonic = '{words}';\n").text == f"const mnemonic = '{'*' * len(words)}';\n"


def test_a_recovery_phrase_is_hidden_with_the_words_behind_it() -> None:
    words = "winter purple otter sunny copper meadow falcon silver maple ginger rocket thunder"
    assert words not in examine("a.yaml", f"mnemonic: {words} used for tests\n").text


def test_unseal_keys_withhold_their_file() -> None:
    keys = "\n".join(f"Unseal Key {i}: {noise(43, seed=i)}=" for i in range(3))
    assert examine("init.txt", keys).withheld == "line 1: unseal keys"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'password = "Tr0ub4dor&' + '3"'),
        ("a.py", 'DB_PASSWORD = "Summer20' + '24!"'),
        ("a.yaml", "password: Winter#" + "2023"),
        ("a.py", "url = 'postgres://app:hunter" + "2@db/app'"),
        ("a.py", 'smtp.login("mona", "Sommer' + '@2024.08!")'),
    ],
)
def test_what_is_called_a_password_need_not_look_random(path: str, text: str) -> None:
    assert examine(path, text + "\n").masked == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a.ts", "const passwordField = fields['currentPassword12'];"),
        ("src/a.ts", "<input type='password' name='password12' class='input-md-12'>"),
        ("src/a.py", "password = hash_password(raw, 'pbkdf2_sha256')"),
        ("src/a.py", "connect(user=user12, password=password12)"),
        ("src/a.py", "signal.connect('clicked', on_click_12)"),
        ("src/a.go", 'hash := "d41d8cd98f00b204e9800998ecf8427e"'),
        ("package-lock.json", '"integrity": "sha512-' + "q7Zk2mV9xT4w" * 7 + '=="'),
        ("Cargo.lock", 'checksum = "' + hashlib.sha256(b"a").hexdigest() + '"'),
        ("a.lock", 'commit = "' + hashlib.sha1(b"a").hexdigest() + '"'),
        ("src/id.ts", "const id = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';"),
        ("run.sh", "docker run -u 1000:1000 -p 8080:80 --name web3 nginx:1.25"),
        ("run.sh", "mkdir -p build/out12 && rsync -au dir12/ dir13/"),
        ("run.sh", "ssh -p 2222 deploy@10.0.0.1"),
        ("Makefile", "# Pass NOCACHE=1 on the make line"),
        ("ca.conf", "# Issuer: CN=Buypass Class 2 Root CA O=Buypass AS-983163327"),
        ("dictionary", "ALIAS  SHA2-256-Password  Password.SHA2-256"),
        ("raddb/mac2ip", "passwd mac2ip {"),
        ("rfc", "draft-haverinen-pppext-eap-sim-12.txt"),
        (
            "secret.yaml",
            "kind: Secret\ndata:\n  ca.crt: " + base64.b64encode(b"-----BEGIN CERTIFICATE-----\nM1a2b3").decode(),
        ),
        ("package.json", '"next-auth": "npm:next-auth' + '@^4.24.11",'),
        ("package.json", '"auth": "npm:@corp/auth12' + '@latest",'),
        ("a.js", 'const password = require("passwd-auth12' + '@4.24.11/react");'),
        ("build.gradle", 'api("org.apache.logging.log4j:log4j-to-slf4j")'),
        ("src/a.rs", 'body(b"username=user&password=secure' + '%20password")'),
        ("a.md", "See https://git.corp.net/docs/hooks/writing-your-first-hook-2"),
        ("a.py", "phrase = 'this line has twelve words and only one person ever wrote them 12'"),
        ("a.kt", 'basic("Basic ' + base64.b64encode(b"user:password").decode() + '")'),
        ("a.json", '{"name": "user-list", "key": "src/components/user-list/12"}'),
        ("db/a.sql", "INSERT INTO rules (password_min, name) VALUES (12, 'rule_number_12');"),
        ("a.csv", "name,hash\nfile12,d41d8cd98f00b204e9800998ecf8427e"),
        ("a.yaml", "keys:\n  primary: user_id2\n  copy: ctrl+shift+f10\n  open: '{{ open1 }}'"),
        ("a.yaml", "tokens:\n  min_length: 12\n  issuer: https://login.corp.net/v2.0\nmax: 12"),
        ("a.json", '"secrets": {\n  "first": "secretsmanager:db/password1",\n  "name": "${NAME_12}"\n}'),
        (
            "README",
            "![a](https://camo.host.net/" + hashlib.sha1(b"a").hexdigest() + "/" + hashlib.sha1(b"b").hexdigest() + ")",
        ),
        ("a.ts", "const logo = 'https://cdn.corp.net/" + hashlib.md5(b"a").hexdigest() + "/logo.png';"),
        ("dns.conf", "dns 10.0.0.53 dns-server-2.internal.corp.net.example"),
        ("nginx.conf", "auth_request /internal/validate_token_v2_of_the_user;\njoin cluster-node-2.internal.corp.net"),
    ],
)
def test_ordinary_code_hashes_and_options_keep_their_text(path: str, text: str) -> None:
    assert examine(path, text + "\n").text == text + "\n"


def address(seed: int) -> str:
    return "0x" + noise(40, "0123456789abcdefABCDEF", seed)


# Maps that are called keys, tokens or secrets and hold none. A value may not be masked in any of them.
HARMLESS_MAPS = {
    "addresses of contracts": (
        "config/mainnet.json",
        '{\n"tokens": {\n' + ",\n".join(f'  "T{seed}": "{address(seed)}"' for seed in range(5)) + "\n}}",
    ),
    "addresses of accounts": (
        "config/solana.json",
        '{\n "tokens": {\n  "USDC": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"\n }\n}',
    ),
    "public keys of nix": (
        "nix.yaml",
        "trusted-public-keys:\n  cache: " + noise(43) + "=\n  other: cache.nixos.org-1:" + noise(43, seed=4) + "=",
    ),
    "keys of a binary cache": ("nix/conf.yml", "keys:\n  cache: cache.nixos.org-1:" + noise(43) + "="),
    "public keys of SSH": ("keys.yaml", "keys:\n  mona: AAAAC3NzaC1lZDI1NTE5AAAA" + "I" + noise(43)),
    "keys of hosts": ("hosts.yml", "host_keys:\n  gate: " + noise(43) + "="),
    "public keys of age": ("sops.yaml", "keys:\n  mona: age1" + noise(58, "023456789acdefghjklmnpqrstuvwxyz")),
    "fingerprints": ("apt.yaml", "gpg-keys:\n  release: " + noise(40, "0123456789ABCDEF")),
    "a name of a secret": ("a.yaml", "credentials:\n  secretName: prod-db-2024"),
    "names of secrets": (
        "a.yaml",
        "secrets:\n  db: prod_db_password_v20240601\n  tls: wildcard-tls-2024\n  app: app-config-5f4mtkh8b2",
    ),
    "what a secret is for": (
        "a.yaml",
        "secrets:\n  provider: Vault2Provider\n  storageClass: gp3Encrypted2024\n  userName: svcBackup2024",
    ),
    "names of caches": ("ci.yml", "cache_keys:\n  deps: v1-deps-2024\n  build: v2-build-8f14e45fceea167a"),
    "names of caches without a prefix": ("ci.yml", "keys:\n  deps: v1-deps-2024\n  npm: node-modules-v20-x64-2024"),
    "a keyboard": ("keyboard.json", '{\n"keys": {\n  "down": "ArrowDown40",\n  "f": "NumpadEnter108"\n}}'),
    "chords": ("keymap.yaml", "keys:\n  copy: C-x-8-return101\n  paste: <leader>p201\n  zoom: Ctrl+Shift+F10"),
    "translations": (
        "locale/en.yaml",
        "keys:\n  hello: Hello2World\n  step_two: onboarding.stepTwo2024\n  plural: cartItems_plural_1001",
    ),
    "tokens of a design": (
        "theme/tokens.json",
        '"tokens": {\n  "font": "InterVariable600",\n  "blue": "3b82f6ff",\n  "color-primary": "#3b82f6"\n}',
    ),
    "design tokens in YAML": (
        "tokens.yaml",
        "design_tokens:\n  accent: rgba59x130x246\n  radius: roundedXl2024\n  blue: Blue500Accent2",
    ),
    "flags of features": ("flags.yml", "feature_keys:\n  nav: newNav2024Rollout\n  pay: checkout-v2-q3-2024"),
    "keys of SQL": ("schema.yaml", "primary_keys:\n  users: usersPk2024Id\nforeign_keys:\n  a: fk_orders_users_2024"),
    "keys to sort by": ("dynamo.yml", "sort_keys:\n  a: GSI1SK2024Order\nkeys:\n  c: GSI2PK1001\n  b: createdAt#2024"),
    "keys of routes": ("routes.yaml", "keys:\n  users: GetUsersV2Route201\n  orders: /api/v2/orders2024"),
    "claims": ("jwt.yaml", "token_claims:\n  sub: userId2024\n  roles: realmAccess2Roles\n  jti: JwtId2Claim"),
    "tokens of a lexer": (
        "grammar.yaml",
        "tokens:\n  FLOAT: Float64Literal\n  HEX: HexInteger128\n  WS: WhiteSpace1001\n  UTF: Utf8StringLiteral",
    ),
    "hashes of a lock file": (
        "lock.yaml",
        "keys:\n  a: sha512-" + noise(86) + "==\n  b: sha256:" + hashlib.sha256(b"a").hexdigest(),
    ),
    "objects in a bucket": ("s3.yaml", "keys:\n  dump: backups.2024-06-01T10.sql.gz\n  logs: logs2024Q3.parquet"),
    "keys of Redis": ("redis.yaml", "keys:\n  session: session:v2:user1001\n  rate: rate_limit:v3:2024q1"),
    "keys of Terraform": ("main.tf", 'keys = {\n  alias = "alias/AppData2024"\n  spec  = "SYMMETRIC_DEFAULT_2024"\n}'),
    "special tokens": ("special.json", '"special_tokens": {\n  "eos": "<|im_end_2024|>",\n  "pad": "PadToken1001"\n}'),
}


@pytest.mark.parametrize("kind", HARMLESS_MAPS)
def test_a_map_that_holds_names_addresses_or_public_keys_keeps_its_text(kind: str) -> None:
    path, text = HARMLESS_MAPS[kind]
    assert examine(path, text + "\n").text == text + "\n"


UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    "url",
    [
        f"https://login.microsoftonline.com/{UUID}/oauth2/token",
        f"https://sts.windows.net/{UUID}/",
        "https://gist.github.com/" + noise(32, "0123456789abcdef"),
        "https://notion.so/" + noise(32, "0123456789abcdef"),
        "https://discord.com/invite/" + noise(8),
        "https://zoom.us/j/" + noise(11, string.digits),
        "https://docs.google.com/document/d/" + noise(44) + "/edit",
        "https://drive.google.com/" + noise(32),
        "https://www.youtube.com/playlist/" + noise(32),
        "https://git.corp.net/" + noise(40, "0123456789abcdef"),
        "https://cdn.corp.net/" + noise(40, "0123456789abcdef") + ".png",
        "https://cdn.corp.net/" + noise(32, "0123456789abcdef"),
        "https://web.archive.org/web/20240101000000/" + noise(32),
        "https://hub.docker.com/layers/sha256-" + noise(64, "0123456789abcdef"),
        f"https://api.corp.net/{UUID}/items",
        f"http://node-1.corp.net:8080/{UUID}",
        f"https://api.corp.net/v1/{UUID}/items",
        "https://api.corp.net/" + noise(32, "0123456789abcdef") + "/items",
        "https://nodejs.corp.net/" + noise(32, "0123456789abcdef"),
        "https://unblock.corp.net/" + noise(32, "0123456789abcdef"),
    ],
)
def test_an_address_that_names_a_thing_keeps_its_text(url: str) -> None:
    text = f"const page = '{url}';\n"
    assert examine("src/a.ts", text).text == text


@pytest.mark.parametrize(
    "before_and_after",
    [
        "https://bsc.getblock.io/ /mainnet/",
        "https://rpc.corp.net/ ",
        "https://eth-rpc.corp.net/ ",
        "https://nd-422-757-666.p2pify.com/ /ext/bc/rpc",
        "https://eth-sepolia.corp.net/ ",
        "https://api.corp.net/v2/ ",
    ],
)
def test_a_key_that_begins_the_path_of_a_node_of_a_chain_is_hidden(before_and_after: str) -> None:
    before, after = before_and_after.split(" ")
    examined = examine("src/a.ts", f"const node = '{before}{noise(32)}{after}';\n")
    assert examined.text == f"const node = '{before}{'*' * 32}{after}';\n"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("etl/load.hql", "join raw_events_2024_q3_eu1_v2"),
        ("notes.txt", f"claim pvc-{UUID}"),
        ("storage.conf", f"claim pvc-{UUID}"),
        ("storage.conf", f"claim {UUID}"),
        ("cluster.conf", f"join {UUID}"),
        ("cluster.conf", f"register node {UUID};"),
        ("coredns.conf", "dns clusterip kube-dns-7c9f8b6d5-x2k4q"),
        ("cluster.cfg", "join worker-7c9f8b6d5-x2k4q-eu1.corp"),
        ("notes.txt", "register " + noise(40, "0123456789abcdef")),
        ("events.log", "login session " + noise(32)),
        ("hive.conf", "join raw_events_2024_q3_eu1_v2"),
    ],
)
def test_a_statement_that_names_a_table_a_volume_or_a_pod_keeps_its_text(path: str, line: str) -> None:
    assert examine(path, line + "\n").text == line + "\n"


@pytest.mark.parametrize("path", ["dns/Caddyfile", "agent.conf", "agent.cfg", "site.caddy", ".agentrc"])
def test_the_token_of_a_statement_that_signs_in_is_hidden(path: str) -> None:
    for statement in ("dns cloudflare", "login", "register"):
        before, after = f"tls {{\n\t{statement} ", "\n}\n"
        assert examine(path, before + noise(40) + after).text == before + "*" * 40 + after


# ---------------------------------------------------------------- masking


def test_a_hidden_value_leaves_every_line_and_column_where_it_was() -> None:
    before, after = 'first = 1\nclass A:\n    password = "', '"; other = 2\n\u00e9 = "\U0001f511"\nlast = 3\n'
    examined = examine("src/a.py", f"{before}{noise(20)}{after}")
    assert examined.text == f"{before}{'*' * 20}{after}"
    assert examined.reasons == ("line 3: a password or key in plain text",)


def test_places_are_right_behind_text_that_latin_1_lacks() -> None:
    examined = examine("src/a.py", "x = '\U0001f511\u65e5\u672c'  # \udcff\n" + f"token = '{TOKENS['GitHub']}'\n")
    assert examined.text == "x = '\U0001f511\u65e5\u672c'  # \udcff\n" + f"token = '{'*' * 40}'\n"


def test_a_file_with_more_than_a_few_values_is_withheld() -> None:
    few = [f"token_{i} = '{noise(24, seed=i)}'\n" for i in range(MOST_MASKED)]
    assert examine("src/a.py", "".join(few)).masked == MOST_MASKED
    more = examine("src/a.py", "".join(few) + f"token_9 = '{noise(24, seed=9)}'\n")
    assert more.withheld == f"{MOST_MASKED + 1} secrets, the first on line 1: a password or key in plain text"
    assert not more.text


def test_a_value_is_hidden_where_nothing_but_another_place_gives_it_away() -> None:
    examined = examine("src/a.py", f"password = '{noise(20)}'\nconnect('db', '{noise(20)}')\n")
    assert examined.text == f"password = '{'*' * 20}'\nconnect('db', '{'*' * 20}')\n"


def test_every_secret_of_a_map_is_hidden_and_nothing_behind_the_map() -> None:
    entries = f"  # ours\n  mona: '{noise(20)}'\n\n  short: a1\n  app: {noise(20, seed=2)}\n"
    text = f"keys:\n{entries}other:\n  id: {noise(20, seed=3)}\n"
    hidden = text.replace(noise(20), "*" * 20).replace(noise(20, seed=2), "*" * 20)
    assert examine("a.yaml", text).text == hidden
    assert examine("a.yaml", text.replace("keys:", "key_ids:")).masked == 0


def test_one_value_that_is_repeated_is_hidden_each_time() -> None:
    examined = examine("src/a.py", "".join(f"token_{i} = '{noise(24)}'\n" for i in range(9)))
    assert (examined.masked, len(examined.reasons), examined.withheld) == (9, 8, "")
    assert noise(24) not in examined.text


@pytest.mark.parametrize(
    "line",
    [
        "const cacheKey = 'user_profile_v2_by_id';",
        'token_type: "Bearer2Token"',
        'secretName: "my-app-secret-v2"',
        '"integrity": "sha512-' + "q7Zk2mV9xT4w" * 6 + '=="',
        'password: "correct-horse-battery-staple-42"',
        "const passwordField = 'currentPassword1';",
        'publicKey = "' + "q7Zk2mV9" + 'xT4wLp0RaB3d"',
        'commit = "' + hashlib.sha1(b"a").hexdigest() + '"',
        'apiKeyHeader = "X-Api-Key-2"',
        "url = 'http://localhost:8080/a@b'",
        "const tokens = ['identifier1', 'stringLiteral2', 'numericLiteral3'];",
        "access_key: arn:aws:iam::123456789012:role/deploy-role-2",
        "TOKEN=$(cat /run/secrets/token1)",
        "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    ],
)
def test_names_versions_and_references_keep_their_text(line: str) -> None:
    for path in ("src/a.ts", "config/a.yaml", "run.sh"):
        assert examine(path, f"a = 1\n{line}\n").masked == 0


# ---------------------------------------------------------------- hostile texts


class Counting:
    """Counts the characters that an expression reads."""

    def __init__(self, regex: Any) -> None:
        self.regex = regex
        self.looked_at = 0

    def search(self, raw: bytes, at: int, end: int) -> Any:
        match = self.regex.search(raw, at, end)
        self.looked_at += (match.end() if match else end) - at
        return match


HOSTILE = [
    "ops_eyJ" * 14_000,
    "eyJaaaaaaaaaa." * 7_000,
    "-----BEGIN RSA PRIVATE " + "KEY-----\n" + "A" * 90_000,
    ("-----BEGIN PRIVATE " + "KEY-----\n") * 3_000,
    "PuTTY-User-Key-File-2: " * 4_000,
    "password=" * 11_000,
    "password: 'a1'" * 7_000,
    "://a:" * 20_000,
    "https://" + "a1B2" * 24_000,
    '"auths": {' * 9_000,
    "curl -u a:b" * 9_000,
    "bearer " * 14_000,
    'name: "SECRET_KEY" ' * 5_000,
    "sk-ant-api03-" + "x" * 90_000,
    "// token " * 11_000,
    "<password>" * 9_000,
    "\U0001f511" * 90_000,
    "INSERT INTO a (password) VALUES ('" * 3_000,
    'connect("a", ' * 8_000,
    "password 0 " * 9_000,
    "a.b.c1-" * 14_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12].encode("ascii", "replace").decode())
def test_no_text_makes_a_rule_look_at_it_over_and_over(text: str) -> None:
    for rule, regex in rules():
        counting = Counting(regex)
        list(look_through(rule, counting, Place("a.sh", text)))
        assert counting.looked_at <= 12 * len(text), rule.name
