"""The place of sidecar's data. Cheap to import, because the pipes need it before anything else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from sidecar import shown
from sidecar.errors import ConfigInvalid

MODEL_NAMES = ("model", "SIDECAR_MODEL")
"""The setting that may be a path, and its environment variable."""
T = TypeVar("T")


def data_home(env: Mapping[str, str]) -> Path:
    """Returns the data folder: SIDECAR_HOME, otherwise `sidecar` in the user's data folder.

    Raises ConfigInvalid if that is not an absolute path.
    """
    home = own_home(env)
    if home is not None:
        return home
    from platformdirs import user_data_path

    return absolute(user_data_path("sidecar", appauthor=False), "The user's data folder (XDG_DATA_HOME)")


def own_home(env: Mapping[str, str]) -> Path | None:
    """Returns SIDECAR_HOME; None if it is not set. Raises ConfigInvalid if it is not an absolute path."""
    text = env.get("SIDECAR_HOME", "")
    if not text:
        return None
    home = Path(text).expanduser()
    return absolute(home, "SIDECAR_HOME")


def absolute(folder: Path, what: str) -> Path:
    """Returns the folder. Raises ConfigInvalid if it is not an absolute path."""
    if not folder.is_absolute():
        raise ConfigInvalid(
            f"{what} is {shown.place(folder)}; give an absolute path, which means the same in every folder."
        )
    return folder


def current_folder() -> str:
    """Returns the absolute path of the current folder; empty if it does not exist any more."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return ""


def with_paths_of(here: str, values: Mapping[str, T]) -> dict[str, T | str]:
    """Returns settings or variables with the model's folder made absolute, as seen from the folder `here`.

    A model's name that is no folder there stays unchanged, and so do all other values.
    """
    return {
        name: model_seen_from(here, value) if name in MODEL_NAMES and isinstance(value, str) else value
        for name, value in values.items()
    }


def model_seen_from(here: str, model: str) -> str:
    """Returns the absolute path of a model's folder, as seen from the folder `here`; the text unchanged if it names no
    folder."""
    folder = os.path.join(here, os.path.expanduser(model))  # noqa: PTH111, PTH118
    return folder if here and model and os.path.isdir(folder) else model  # noqa: PTH112
