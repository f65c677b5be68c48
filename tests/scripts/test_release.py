"""A release has one version, notes from the changelog, checksums, and packages with the same content."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from scripts.suffixless import load_script
from sidecar.parts.embed.published import Shelf

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "scripts/dev/prepare-release"
release = load_script("dev/prepare-release")

CHANGELOG = """# Changelog

## [1.3.0] - 2026-02-01

### Added

- A new command:

```
## a comment in a shell
```

### Fixed

- A fault.

## 1.2.0 - 2026-01-01

- The first release.

## 1.1.0 - 2025-12-01

## 1.0.0 - 2025-11-01

- Old.
"""


def a_checkout(root: Path, version: str = "1.3.0", changelog: str = CHANGELOG) -> Path:
    """The files of a checkout that name its version."""
    packages = {"version": version, "packages": {"": {"version": version}, "node_modules/other": {"version": "9.9.9"}}}
    files: dict[str, object] = {
        "sidecar/__init__.py": f'"""A package."""\n\n__version__ = "{version}"\n',
        "extension/package.json": {"version": version},
        "extension/package-lock.json": packages,
        "plugin/.claude-plugin/plugin.json": {"version": version},
        "docs/openapi.json": {"info": {"version": version}},
        "CHANGELOG.md": changelog,
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return root


def a_zip(path: Path, files: Mapping[str, str], year: int = 2026) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), content)
    return path


def test_the_agreed_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert release.agreed_version(a_checkout(tmp_path)) == "1.3.0"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("extension/package.json", '{"version": "1.2.9"}'),
        ("extension/package-lock.json", '{"version": "1.2.9", "packages": {"": {"version": "1.3.0"}}}'),
        ("extension/package-lock.json", '{"version": "1.3.0", "packages": {"": {"version": "1.2.9"}}}'),
        ("plugin/.claude-plugin/plugin.json", '{"version": "1.2.9"}'),
        ("docs/openapi.json", '{"info": {"version": "1.2.9"}}'),
        ("CHANGELOG.md", "# Changelog\n\n## 1.2.9 - 2026-01-01\n"),
    ],
)
def test_a_file_that_names_another_version_is_named(tmp_path: Path, name: str, content: str) -> None:
    root = a_checkout(tmp_path)
    (root / name).write_text(content, "utf-8")
    with pytest.raises(release.UnfitError) as raised:
        release.agreed_version(root)
    message = str(raised.value)
    assert f"{name}: 1.2.9" in message
    assert "sidecar/__init__.py says 1.3.0" in message
    assert message.count("1.2.9") == 1, "files that agree are not named"


def test_a_changelog_may_begin_with_what_is_unreleased_until_a_tag_is_set(tmp_path: Path) -> None:
    root = a_checkout(tmp_path, changelog="# Changelog\n\n## Unreleased\n\n- New.\n")
    assert release.agreed_version(root) == "1.3.0"
    with pytest.raises(release.UnfitError, match=r"CHANGELOG\.md: Unreleased"):
        release.agreed_version(root, tag="v1.3.0")


def test_a_tag_names_the_version_that_the_files_name(tmp_path: Path) -> None:
    root = a_checkout(tmp_path)
    assert release.agreed_version(root, tag="v1.3.0") == "1.3.0"
    for tag in ("v1.3.1", "1.3.0", "v1.3.0-rc1"):
        with pytest.raises(release.UnfitError, match=f"tag {tag}"):
            release.agreed_version(root, tag=tag)


def test_the_notes_are_the_section_of_the_version_alone() -> None:
    notes = release.release_notes(CHANGELOG, "1.3.0")
    assert notes.startswith("### Added\n")
    assert notes.endswith("- A fault.\n")
    assert "## a comment in a shell" in notes, "a line of an example is no heading"
    assert release.release_notes(CHANGELOG, "1.2.0") == "- The first release.\n"
    assert release.release_notes(CHANGELOG, "1.0.0") == "- Old.\n"


def test_a_version_without_a_section_is_an_error_that_says_which_there_are() -> None:
    with pytest.raises(release.UnfitError) as raised:
        release.release_notes(CHANGELOG, "1.3")
    message = str(raised.value)
    assert "no section for 1.3" in message
    assert "1.3.0, 1.2.0, 1.1.0, 1.0.0" in message
    assert "## 1.3 - YYYY-MM-DD" in message


def test_a_section_without_text_is_an_error() -> None:
    with pytest.raises(release.UnfitError, match=r"section 1\.1\.0 .* empty"):
        release.release_notes(CHANGELOG, "1.1.0")


def test_what_is_unreleased_stands_for_a_version_without_a_section_of_its_own_when_no_tag_is_set() -> None:
    text = "## Unreleased\n\n- New.\n\n## 1.3.0 - 2026-02-01\n\n- Old.\n"
    assert release.release_notes(text, "1.4.0", unreleased=True) == "- New.\n"
    assert release.release_notes(text, "1.3.0", unreleased=True) == "- Old.\n"
    with pytest.raises(release.UnfitError, match="no section"):
        release.release_notes(text, "1.4.0")


def test_links_of_the_notes_lead_to_the_files_at_the_tag_where_the_project_is_published() -> None:
    notes = "[a table](docs/install.md), [how](docs/serve.md#tls), [elsewhere](https://example.org/x), [here](#a)"
    assert release.with_addresses(notes, "https://example.org/a/b/", "1.3.0") == (
        "[a table](https://example.org/a/b/blob/v1.3.0/docs/install.md), "
        "[how](https://example.org/a/b/blob/v1.3.0/docs/serve.md#tls), [elsewhere](https://example.org/x), [here](#a)"
    )
    with pytest.raises(release.UnfitError, match="REPOSITORY="):
        release.with_addresses(notes, "", "1.3.0")


@pytest.mark.process
@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum checks what is written; Linux has it")
def test_the_checksums_are_what_sha256sum_checks_and_name_every_file_but_their_own(tmp_path: Path) -> None:
    names = [f"{letter} {letter}.whl" for letter in "fbdeahgc"]
    for name in names:
        (tmp_path / name).write_bytes(name.encode() * 1000)
    for _ in range(2):
        release.write_checksums(tmp_path)
        lines = (tmp_path / "SHA256SUMS").read_text("ascii").splitlines()
        assert [line.split("  ", 1)[1] for line in lines] == sorted(names)
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / names[0]).write_bytes(b"another")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_wheels_are_compared_by_their_files_and_not_by_when_they_were_packed(tmp_path: Path) -> None:
    files = {"sidecar/a.py": "1", "sidecar/b.py": "2", "sidecar-1.dist-info/RECORD": "x"}
    one = a_zip(tmp_path / "one.whl", files)
    later = a_zip(tmp_path / "later.whl", {**dict(reversed(files.items())), "sidecar-1.dist-info/RECORD": "y"}, 2027)
    assert release.differing_files(one, later) == []
    other = a_zip(tmp_path / "other.whl", {"sidecar/a.py": "1", "sidecar/b.py": "3", "sidecar/new.py": ""})
    assert release.differing_files(one, other) == ["sidecar/b.py", "sidecar/new.py"]


def test_what_is_not_the_repositorys_is_seen_in_a_source_archive(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as packed:
        for name in ("PKG-INFO", "build/_commit", "build/_released_at", "sidecar/a.py", "extension/bundled/a.whl"):
            packed.addfile(tarfile.TarInfo(f"sidecar_search-1.3.0/{name}"))
    assert release.strays(tmp_path / "a.tar.gz", {"sidecar/a.py", "README.md"}) == ["extension/bundled/a.whl"]


TABLE = "sidecar/_models/static-code-256/model.onnx"
AT = "sidecar/_models/released-at"


def test_a_wheel_with_another_model_than_the_table_is_refused(tmp_path: Path) -> None:
    release.check_models(a_zip(tmp_path / "a.whl", {TABLE: "", "sidecar/_models/catalog.json": "", AT: ""}))
    heavy = a_zip(tmp_path / "b.whl", {TABLE: "", "sidecar/_models/minilm-code/weights.bin": "", AT: ""})
    with pytest.raises(release.UnfitError, match="models minilm-code, static-code-256 instead of static-code-256"):
        release.check_models(heavy)


def test_a_wheel_that_does_not_know_where_its_models_are_published_is_refused(tmp_path: Path) -> None:
    with pytest.raises(release.UnfitError, match="REPOSITORY="):
        release.check_models(a_zip(tmp_path / "a.whl", {TABLE: ""}))


def test_the_files_of_our_transformer_are_attached_under_the_names_that_a_download_asks_for(tmp_path: Path) -> None:
    attached = release.attach_models(ROOT / "models", tmp_path)
    assert attached == [f"minilm-code-{end}" for end in ("fp16.onnx", "int8.onnx", "tokenizer.json", "weights.bin")]
    asked = [file for model in Shelf(None).published if model.released for file in model.files.values()]
    assert {(path.name, path.stat().st_size) for path in tmp_path.iterdir()} == {(one.path, one.size) for one in asked}


def test_a_file_of_our_transformer_that_the_list_does_not_pin_is_refused(tmp_path: Path) -> None:
    models = tmp_path / "models"
    (models / "minilm-code").mkdir(parents=True)
    shutil.copyfile(ROOT / "models/published.json", models / "published.json")
    with pytest.raises(release.UnfitError, match=r"int8\.onnx is not the file of minilm-code-int8"):
        release.attach_models(models, tmp_path)


def built(folder: Path, **env: str) -> Path:
    """A wheel of this checkout."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps")
    own = {name: value for name, value in os.environ.items() if name != "SIDECAR_REPOSITORY"}
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], env={**own, **env}, check=True)
    return next(folder.glob("*.whl"))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("repository", ["", "https://example.org/a/b.git"])
def test_a_wheel_carries_the_table_alone_and_says_where_its_release_is_if_that_is_known(
    tmp_path: Path, repository: str
) -> None:
    wheel = built(tmp_path, SIDECAR_REPOSITORY=repository)
    with zipfile.ZipFile(wheel) as packed:
        models = {name.split("/")[2]: name for name in packed.namelist() if name.startswith("sidecar/_models/")}
        assert set(models) - {"released-at"} == {"catalog.json", "published.json", "static-code-256"}
        address = packed.read(AT).decode() if AT in packed.namelist() else ""
    version = release.own_version(ROOT)
    assert address == (f"https://example.org/a/b/releases/download/v{version}\n" if repository else "")
    assert wheel.stat().st_size <= 12e6


def test_the_sbom_names_the_version_of_what_it_describes_and_keeps_the_rest() -> None:
    numpy = {"name": "numpy", "version": "2.0"}
    written = {"metadata": {"component": {"name": "sidecar-search"}}, "components": [numpy]}
    completed = json.loads(release.with_version(json.dumps(written), "1.3.0"))
    described = completed["metadata"]["component"]
    assert described == {"name": "sidecar-search", "version": "1.3.0", "purl": "pkg:pypi/sidecar-search@1.3.0"}
    assert completed["components"] == [numpy]


def test_an_extension_of_another_version_is_refused(tmp_path: Path) -> None:
    packed = a_zip(tmp_path / "sidecar.vsix", {"extension/package.json": '{"version": "1.2.9"}'})
    release.check_extension(packed, "1.2.9")
    with pytest.raises(release.UnfitError, match=r"sidecar\.vsix: 1\.2\.9 instead of 1\.3\.0"):
        release.check_extension(packed, "1.3.0")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("extension/dist/watcher.node", "\x7fELF and so on"),
        ("extension/bundled/tool", "MZ and so on"),
        ("extension/bundled/numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl", "PK"),
    ],
)
def test_an_extension_that_only_some_platforms_can_use_is_refused_and_the_file_is_named(
    tmp_path: Path, name: str, content: str
) -> None:
    everywhere = {
        "extension/package.json": '{"version": "1.2.9"}',
        "extension/dist/extension.js": "// JavaScript",
        "extension/bundled/sidecar_search-1.2.9-py3-none-any.whl": "PK",
    }
    release.check_extension(a_zip(tmp_path / "sidecar.vsix", everywhere), "1.2.9")
    bound = a_zip(tmp_path / "bound.vsix", {**everywhere, name: content})
    with pytest.raises(release.UnfitError, match=re.escape(name)):
        release.check_extension(bound, "1.2.9")


@pytest.mark.process
def test_missing_programs_of_node_are_named_with_the_way_to_go_on_without_them(tmp_path: Path) -> None:
    def check(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(PROGRAM), "check", *words]
        env = {**os.environ, "PATH": str(tmp_path)}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    without = check("--vsix", "yes")
    assert without.returncode == 1
    assert "node, npm" in without.stderr
    assert "VSIX=no" in without.stderr
    assert check("--vsix", "no").returncode == 0


def test_the_workflow_makes_everything_by_the_same_target_and_publishes_in_its_last_step_only() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    jobs = workflow["jobs"]
    assert list(jobs) == ["build", "image", "publish"]
    assert (jobs["image"]["needs"], jobs["publish"]["needs"]) == ("build", ["build", "image"])
    assert not [name for name in ("build", "image") if "permissions" in jobs[name]], "what builds may write nothing"
    commands = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    assert "make release-dry-run" in commands
    assert [("uv publish" in command) for command in commands] == [False] * (len(commands) - 1) + [True]
