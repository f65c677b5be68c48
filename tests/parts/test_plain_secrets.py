"""Values that are called a password, a token or a key are hidden in results, although the index keeps them."""

from __future__ import annotations

import pytest

from sidecar.parts.secrets.plain import without_plain_secrets

HIDDEN = (
    ("config/app.yaml", "db:\n  password: {}\n  host: x\n", "swordfish"),
    ("config/app.yaml", "password: {}  # of the staging machine\n", "hunter2"),
    ("config/app.yaml", 'smtp_passwd: "{}"\n', "s3cret!"),
    ("app.json", '{{\n  "password": "{}",\n  "user": "x"\n}}', "correcthorse"),
    ("app.json", '{{"accessToken": "{}"}}', "abc123def9"),
    ("settings.toml", "admin-pwd = '{}'\n", "Sommer99"),
    ("db.properties", "spring.datasource.password={}\n", "geheim1"),
    ("deploy.yaml", "- name: DB_PASSWORD\n  value: {}\n- name: X\n  value: y\n", "swordfish"),
    ("compose.yml", "environment:\n  - DB_PASSWORD={}\n", "hunter2"),
    ("src/db.py", 'connect(user="x", password="{}")\n', "hunter22"),
    ("src/db.ts", "const options = {{ password: '{}' }};\n", "letmein77"),
    ("src/Db.java", 'private static final String PASSWORD = "{}";\n', "Password12"),
    ("src/db.rb", "config[:api_key] => '{}'\n", "abcd1234x"),
)

KEPT = (
    ("config/app.yaml", "password: changeme\n"),
    ("config/app.yaml", "password: ${DB_PASSWORD}\n"),
    ("config/app.yaml", "password: $DB_PASSWORD\n"),
    ("config/app.yaml", "password: {{ vault.password }}\n"),
    ("config/app.yaml", "password: !vault db/password\n"),
    ("config/app.yaml", "password: <your password>\n"),
    ("config/app.yaml", "password:\n  min_length: 12\n"),
    ("config/app.yaml", "password: null\npassword_hash_rounds: 12\n"),
    ("config/app.yaml", "password: postgres\n"),
    ("config/app.yaml", "password_min_length: 1234\ntoken_type: bearer12\nsecretName: my-secret-1\n"),
    (".github/workflows/ci.yml", "  token: ${{ secrets.GITHUB_TOKEN }}\n  id-token: write\n  secrets: inherit\n"),
    ("locales/de.json", '{"password": "Passwort12"}'),
    ("messages.json", '{"password": "Enter your password"}'),
    ("openapi.yaml", "properties:\n  password: string\n"),
    ("package.json", '{"js-token": "^4.0.0", "pbkdf2-password": "1.2.1"}'),
    (
        "package-lock.json",
        '"integrity": "sha512-oGB+UxlgWcgQkgwo8GcEGwemoTFt3FIO9ababBmaGwXIoBKZ=="',
    ),
    (
        "poetry.lock",
        '{file = "x.whl", hash = "sha256:0fae1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c"}',
    ),
    ("go.sum", "github.com/x/token v1.2.3 h1:abcDEF123456789=\n"),
    ("src/form.tsx", '<input type="password" name="password1" />\n'),
    ("src/form.ts", "password: 'currentPassword', token: 'auth/token1', secret: process.env.S3CRET\n"),
    ("src/hash.py", 'password = hash_it(password, "sha256")\npassword: str = ""\n'),
    ("src/hash.py", 'PASSWORD_HASHER = "argon2"\ntoken = "md5"\n'),
    ("tests/test_login.py", 'login(password="hunter22")\n'),
    ("docs/guide.md", "password: hunter22\n"),
    ("app.example.yaml", "password: hunter22\n"),
    ("src/keys.py", 'key = "cache_v12345678"\nprimary_key = "id1234567"\n'),
)


@pytest.mark.parametrize(("path", "text", "value"), HIDDEN)
def test_a_value_that_is_called_a_secret_is_hidden_and_nothing_moves(path: str, text: str, value: str) -> None:
    assert without_plain_secrets(path, text.format(value)) == text.format("*" * len(value))


@pytest.mark.parametrize(("path", "text"), KEPT)
def test_placeholders_references_hashes_versions_and_what_is_made_up_are_kept(path: str, text: str) -> None:
    assert without_plain_secrets(path, text) == text
