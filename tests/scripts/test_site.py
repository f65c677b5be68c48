"""The site of docs/: built without a warning, with each link leading somewhere and nothing fetched from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://forge.example/sidecar"


def build(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=root,
        env={**os.environ, "REPOSITORY": REPOSITORY},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the site of this tree in another folder."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a copy of docs/ beside the rest of this tree that can be built."""
    root = tmp_path_factory.mktemp("copied")
    shutil.copytree(ROOT / "docs", root / "docs")
    shutil.copyfile(ROOT / "mkdocs.yml", root / "mkdocs.yml")
    (root / "scripts").symlink_to(ROOT / "scripts")
    done = build(root, root / "site")
    assert done.returncode == 0, done.stderr
    return root


class Contents(HTMLParser):
    """Collects a page's links, anchors, loaded resources and paragraph texts."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.paragraphs: list[str] = []
        self._in_paragraph = False
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and (target := found.get("href")):
            self.links.append(target)
        if tag in ("script", "img", "link", "iframe") and found.get("rel") != "canonical":
            self.loaded += [value for name in ("src", "href") if (value := found.get(name))]
        if tag == "p":
            self._in_paragraph = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_paragraph &= tag != "p"

    def handle_data(self, data: str) -> None:
        if self._in_paragraph:
            self.paragraphs[-1] += data


def test_every_link_and_every_picture_of_the_site_leads_to_a_page_a_file_and_an_anchor_that_exist(site: Path) -> None:
    pages = {page: Contents(page) for page in site.rglob("*.html") if page.name != "404.html"}
    dead = []
    for page, contents in pages.items():
        for link in (*contents.links, *contents.loaded):
            parts = urlsplit(link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if parts.scheme or parts.netloc:
                continue
            anchor = not parts.fragment or (target in pages and unquote(parts.fragment) in pages[target].anchors)
            if not (target.is_file() or target == site) or not anchor:
                dead.append((page.relative_to(site).as_posix(), link))
    assert dead == []
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md"))) + 4


def test_a_link_to_a_file_of_the_repository_leads_to_where_it_is_published_at_this_version(site: Path) -> None:
    from sidecar import __version__

    found = {link for page in site.rglob("*.html") for link in Contents(page).links if link.startswith(REPOSITORY)}
    start = re.compile(rf"{re.escape(REPOSITORY)}/(blob|tree)/v{re.escape(__version__)}/(.+)")
    named = [start.fullmatch(link) for link in found]
    assert all(named)
    assert all((ROOT / one[2]).is_dir() is (one[1] == "tree") and (ROOT / one[2]).exists() for one in named if one)
    assert f"{REPOSITORY}/blob/v{__version__}/extension/README.md" in found


def test_no_page_loads_anything_from_another_place(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert [(page.name, one) for page in pages for one in Contents(page).loaded if urlsplit(one).netloc] == []


def test_lists_and_tables_are_shown_as_such_and_not_as_text(site: Path) -> None:
    as_text = re.compile(r"^(- |\* |1\. |\|.*\|$|#+ )", re.MULTILINE)
    found = [
        (page.relative_to(site).as_posix(), text.strip()[:60])
        for page in site.rglob("*.html")
        for text in Contents(page).paragraphs
        if as_text.search(text)
    ]
    assert found == []


@pytest.mark.parametrize("link", ["nothing.md", "agents.md#nothing-of-this-name", "../nowhere/file.py", "/agents.md"])
def test_a_link_to_nothing_ends_the_build_and_is_named(copied: Path, link: str) -> None:
    page = copied / "docs/team.md"
    before = page.read_text("utf-8")
    page.write_text(f"{before}\nSee [this]({link}).\n", "utf-8")
    done = build(copied, copied / "site")
    page.write_text(before, "utf-8")
    assert done.returncode != 0
    assert link in done.stderr


def test_make_builds_the_site_in_the_way_that_counts_what_is_wrong() -> None:
    (command,) = [line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "mkdocs build" in line]
    assert "--strict" in command
    assert "--quiet" not in command, "it would keep mkdocs from counting what it warns of"


def test_the_release_builds_the_site_with_the_same_command_as_a_person() -> None:
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]["build"]["steps"]
    assert "make release-dry-run" in [step.get("run") for step in steps]
    rules = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^release-dry-run: .*\n(\t.*\n)*\t.*\bsite\b", rules, re.MULTILINE)
