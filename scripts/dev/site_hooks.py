"""Adds to the site what docs/ lacks: the README as its first page, two more pages of the root, and a list of decisions.

A link from a page to a file of the repository leads to the page that is made from this file. If there is none, it leads
to the file where the project is published (`REPOSITORY` in the environment), at the tag of this version. A picture is
copied. A link to nothing is not changed, and `mkdocs build --strict` refuses it.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"
OF_THE_ROOT = {"README.md": "index.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
"""Files beside docs/ that are pages: their names there and in the site."""
DECISIONS = "decisions/index.md"
PICTURES = (".png", ".svg")
_LINK = re.compile(r"(?<=\]\()([^()#\s:]+)(#[^()\s]*)?(?=\))")
_FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the decision records to the navigation."""
    records = sorted(path.name for path in (ROOT / DOCS / "decisions").glob("*.md"))
    config.nav = [*(config.nav or ()), {"Decisions": [DECISIONS, *(f"decisions/{name}" for name in records)]}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that docs/ does not have, and the pictures that they show."""
    for name, page in OF_THE_ROOT.items():
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, page, content=text))
        for target in sorted({link[1] for link in _LINK.finditer(text)}):
            if target.endswith(PICTURES) and not target.startswith(DOCS):
                files.append(File.generated(config, target, abs_src_path=str(ROOT / target)))
    files.append(File.generated(config, DECISIONS, content=_list_of_decisions()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links to files of the repository into links that lead somewhere on the site."""
    here = page.file.src_uri
    source = next((name for name, made in OF_THE_ROOT.items() if made == here), DOCS + here)
    return with_links(markdown, source, here, lambda uri: files.get_file_from_path(uri) is not None)


def with_links(markdown: str, source: str, here: str, has: Callable[[str], bool]) -> str:
    """Returns the text of the repository's file `source` with its links adapted to the site's page `here`. `has` says
    whether the site has a page or picture."""

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
        target, anchor = _place_of(path, has), link[2] or ""
        if target is None:
            return link[0]
        is_page = "://" not in target
        return (posixpath.relpath(target, posixpath.dirname(here) or ".") if is_page else target) + anchor

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(replaced, part) for part in parts)


def _place_of(path: str, has: Callable[[str], bool]) -> str | None:
    """Returns where a file of the repository can be found: a page or picture of the site, or an address; None if
    nowhere."""
    if path == "docs/decisions":
        return DECISIONS
    uri = OF_THE_ROOT.get(path) or path.removeprefix(DOCS)
    if has(uri):
        return uri
    if path.startswith("..") or not (ROOT / path).exists():
        return None
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"{os.environ['REPOSITORY'].rstrip('/')}/{kind}/v{_version()}/{path}"


def _version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "sidecar/__init__.py").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError('sidecar/__init__.py has no line `__version__ = "..."`.')
    return found[1]


def _list_of_decisions() -> str:
    lines = ["# Decisions\n"]
    for path in sorted((ROOT / DOCS / "decisions").glob("*.md")):
        title = path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"
