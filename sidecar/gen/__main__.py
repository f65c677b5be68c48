"""`python -m sidecar.gen [--check]`: writes every generated file of a checkout, or lists those that are stale."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from sidecar.gen import manifest, markdown, repeatable, shell, shells, typescript
from sidecar.surfaces.http import openapi
from sidecar.tools.registry import ALL_TOOLS

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = "extension/package.json"


def generated() -> Mapping[str, str]:
    """Content by path relative to the checkout. In the extension's package.json only the settings are generated; the
    rest is kept."""
    return {
        MANIFEST: manifest.package_json((ROOT / MANIFEST).read_text(encoding="utf-8"), models()),
        "extension/src/settings.gen.ts": manifest.settings_table(),
        "sidecar/surfaces/cli/shell.json": shell.facts(),
        "sidecar/daemon/repeatable.py": repeatable.module(),
        "docs/tools.md": markdown.tools_page(),
        "docs/cli.md": markdown.cli_page(),
        "docs/settings.md": markdown.settings_page(),
        "docs/sidecar.1": shells.manual(),
        **shells.completions(),
        "docs/openapi.json": json.dumps(openapi.document(ALL_TOOLS), indent=2, ensure_ascii=False) + "\n",
        "extension/src/protocol.gen.ts": typescript.protocol(),
    }


def models() -> Mapping[str, str]:
    """What each model with a name is for, by name: those that ship first."""
    return {card.model.entry.id: card.model.entry.about for card in shell.known_models()}


def stale(root: Path) -> list[str]:
    """The generated files that are missing or differ from what their source generates."""
    return [
        name
        for name, content in generated().items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != content
    ]


def main() -> int:
    """Returns the exit status: 1 with `--check` when a file is stale, else 0."""
    parser = argparse.ArgumentParser(prog="python -m sidecar.gen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    check = parser.parse_args().check
    names = stale(ROOT)
    for name in names:
        sys.stdout.write(f"{'stale' if check else 'wrote'} {name}\n")
        if not check:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(generated()[name], encoding="utf-8")
    return 1 if check and names else 0


if __name__ == "__main__":
    sys.exit(main())
