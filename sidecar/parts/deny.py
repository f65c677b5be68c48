"""Names that are never source: dependencies, version control, build output, caches, lock and editor files, media.

Names that are source in one ecosystem and output in another (`target`, `bin`, `vendor` ...) are denied only on
evidence: a build file beside the folder, or certain names in it.
"""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from sidecar.parts.data_folder import UNFINISHED

_FOLDERS: dict[str, str] = {
    name: kind
    for kind, names in {
        "dependency folder": "node_modules jspm_packages bower_components .venv .yarn .pnpm-store .bundle .eggs "
        "site-packages elm-stuff .dart_tool __pypackages__ .pixi .conda",
        "version control": ".git .hg .svn .bzr .jj CVS _darcs .pijul",
        "build output": ".build .output .next .nuxt .angular .svelte-kit .astro .expo .docusaurus .storybook-static "
        "storybook-static .vercel .netlify .serverless dist-newstyle .stack-work zig-out cmake-build-debug "
        "cmake-build-release DerivedData xcuserdata .aws-sam cdk.out",
        "cache": "__pycache__ .cache .turbo .parcel-cache .gradle .mvn .nyc_output .pytest_cache .hypothesis .tox .nox "
        "htmlcov .mypy_cache .ruff_cache .pyre .pytype .ipynb_checkpoints .terraform .terragrunt-cache .sass-cache "
        ".zig-cache zig-cache .bloop .metals .elixir_ls .direnv .ccls-cache .clangd .webpack .rpt2_cache",
        "editor files": ".idea .vscode .fleet .vs __MACOSX",
    }.items()
    for name in names.split()
}

_FILES: dict[str, str] = {
    name: kind
    for kind, names in {
        "lock file": "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb go.sum gradle.lockfile "
        "packages.lock.json Package.resolved project.assets.json",
        "editor file": ".DS_Store Thumbs.db desktop.ini",
        "cache": ".eslintcache .stylelintcache .coverage .phpunit.result.cache",
        # In a worktree or a submodule, `.git` is a file.
        "version control": ".git",
    }.items()
    for name in names.split()
}

_SUFFIXES: dict[str, str] = {
    ".lock": "lock file",
    ".log": "log file",
    ".swp": "editor file",
    ".swo": "editor file",
    "~": "editor file",
    ".sublime-workspace": "editor file",
    ".tsbuildinfo": "cache",
    ".js.map": "source map",
    ".css.map": "source map",
    ".mjs.map": "source map",
}
_ANY_SUFFIX = tuple(_SUFFIXES)

_MEDIA = (
    "png jpg jpeg gif bmp ico icns webp avif heic tif tiff psd xcf ai eps raw cr2 mp3 mp4 m4a m4v wav "
    "flac ogg oga ogv webm avi mov mkv wmv aac opus mid midi zip gz tgz bz2 tbz2 xz txz zst 7z rar tar "
    "jar war ear apk aab ipa dmg iso img deb rpm msi exe dll so dylib a lib o obj pdb class pyc pyo pyd "
    "wasm whl egg gem nupkg crx xpi pdf doc docx xls xlsx ppt pptx odt ods odp epub mobi ttf otf woff "
    "woff2 eot sqlite sqlite3 db mdb parquet feather arrow orc npy npz pkl pickle joblib h5 hdf5 onnx pt "
    "pth ckpt safetensors gguf tflite pb bin blend fbx glb stl swf fla rdb lmdb"
)
_BINARY_EXTENSIONS = frozenset(_MEDIA.split())

_EVIDENCE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # folder name: (build files beside the folder, names in the folder)
    "target": (("Cargo.toml", "pom.xml", "build.sbt", "project.clj"), ()),
    "bin": (("*.csproj", "*.fsproj", "*.vbproj"), ()),
    "obj": (("*.csproj", "*.fsproj", "*.vbproj"), ()),
    "out": (("package.json", "tsconfig.json", "build.gradle", "build.gradle.kts", "*.iml"), ("CMakeCache.txt",)),
    "build": (
        ("package.json", "build.gradle", "build.gradle.kts", "pubspec.yaml"),
        ("CMakeCache.txt", "bdist.*", "build.ninja"),
    ),
    "dist": (("package.json", "build.gradle", "build.gradle.kts"), ("*.whl", "*.tar.gz")),
    "vendor": (("composer.json", "go.mod", "Gemfile"), ("modules.txt", "autoload.php")),
    "Pods": (("Podfile",), ("Manifest.lock",)),
    "Carthage": (("Cartfile",), ()),
    "deps": (("mix.exs", "rebar.config"), ()),
    "_build": (("mix.exs", "rebar.config", "dune-project", "dune-workspace", "conf.py", "*.opam"), ()),
    "_site": (("_config.yml", "_config.yaml"), ()),
    "coverage": ((), ("lcov.info", "coverage-final.json", "clover.xml", "lcov-report")),
    "packages": ((), ("repositories.config",)),
}

_TELLING: tuple[tuple[str, str], ...] = (
    ("pyvenv.cfg", "a Python virtual environment"),
    ("conda-meta", "a conda environment"),
    # https://bford.info/cachedir/
    ("CACHEDIR.TAG", "a folder marked as a cache"),
)


_LIST, _SNAPSHOT = "heads.json", f"{'[0-9a-f]' * 64}.zst*"


class Listing(Protocol):
    """The names in one folder."""

    def has(self, pattern: str) -> bool:
        """Whether the folder has a name that matches; `*` stands for any run of characters."""


class KnownNames:
    """A listing of names that the caller has already read."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def has(self, pattern: str) -> bool:
        """See `Listing.has`."""
        if "*" not in pattern:
            return pattern in self._names
        return any(fnmatchcase(name, pattern) for name in self._names)


class NamesOnDisk:
    """A listing that reads the disk at each call. Raises OSError when an existing folder cannot be read."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def has(self, pattern: str) -> bool:
        """See `Listing.has`."""
        try:
            if "*" not in pattern:
                (self._folder / pattern).lstat()
                return True
            return any(fnmatchcase(child.name, pattern) for child in self._folder.iterdir())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False


def denied_by_name(name: str, is_folder: bool) -> str:
    """Returns why a name is never indexed, at any depth; empty when the name alone does not exclude it."""
    if name.startswith(UNFINISHED):
        return f"{UNFINISHED}* (what sidecar has not finished writing)"
    if is_folder:
        kind = _FOLDERS.get(name) or ("package metadata" if name.endswith((".egg-info", ".dist-info")) else "")
        return f"{name}/ ({kind})" if kind else ""
    if name in _FILES:
        return f"{name} ({_FILES[name]})"
    if name.endswith(_ANY_SUFFIX):
        suffix = next(suffix for suffix in _SUFFIXES if name.endswith(suffix))
        return f"*{suffix} ({_SUFFIXES[suffix]})"
    return ""


def denied_by_siblings(name: str, is_folder: bool, siblings: Listing) -> str:
    """Returns why a folder is build output or dependencies, or a file lists team snapshots, by the names beside it;
    empty when they do not show it."""
    if not is_folder:
        return f"{name} (sidecar's list of snapshots)" if name == _LIST and siblings.has(_SNAPSHOT) else ""
    signals = _EVIDENCE.get(name)
    marker = next((marker for marker in signals[0] if siblings.has(marker)), "") if signals else ""
    return f"{name}/ beside {marker}" if marker else ""


def denied_by_contents(name: str, contents: Listing) -> str:
    """Returns why a folder is build output, a cache or an environment, by the names in it; empty when they do not show
    it."""
    for marker, meaning in _TELLING:
        if contents.has(marker):
            return f"{name}/ holds {marker} ({meaning})"
    signals = _EVIDENCE.get(name)
    marker = next((marker for marker in signals[1] if contents.has(marker)), "") if signals else ""
    return f"{name}/ holds {marker}" if marker else ""


def binary_extension(name: str) -> str:
    """Returns the lower-case extension if it is one of media, archives, object files and the like; else empty."""
    extension = name.rpartition(".")[2].lower()
    return extension if "." in name and extension in _BINARY_EXTENSIONS else ""
