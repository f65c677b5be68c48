"""Settings are read again when a file looks changed, and only then."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sidecar.settings.load import Settings, load_settings
from sidecar.settings.remembered import RememberedSettings, SteadySettings


class Reader:
    """Reads the files, and counts the reads."""

    def __init__(self, user_file: Path) -> None:
        self.user_file = user_file
        self.count = 0

    def __call__(self, config: Path) -> Settings:
        self.count += 1
        return load_settings(config, self.user_file, {}, {}, {})


def write(path: Path, threads: int, age: int) -> None:
    path.write_text(f'{{"threads": {threads}}}')
    os.utime(path, (age, age))


def remembered(folder: Path) -> tuple[RememberedSettings, Reader]:
    reader = Reader(folder / "user.json")
    return RememberedSettings(reader.user_file, reader), reader


def test_files_that_are_missing_are_not_looked_into_again_until_they_come(tmp_path: Path) -> None:
    settings, reader = remembered(tmp_path)
    config = tmp_path / "config.json"
    assert settings(config) is settings(config)
    assert reader.count == 1
    write(config, 2, 1_000_000_000)
    assert settings(config).threads == 2
    write(reader.user_file, 1, 1_000_000_000)
    config.unlink()
    assert settings(config).threads == 1


def test_a_file_that_has_just_changed_is_read_every_time(tmp_path: Path) -> None:
    """After the next change, its size and time stamps can be the same."""
    settings, _ = remembered(tmp_path)
    config = tmp_path / "config.json"
    for threads in range(1, 7):
        write(config, threads, 1_000_000_000)
        assert settings(config).threads == threads


def test_two_indexes_have_settings_of_their_own(tmp_path: Path) -> None:
    settings, _ = remembered(tmp_path)
    for number in (1, 2):
        write(tmp_path / str(number), number, 1_000_000_000)
    assert [settings(tmp_path / name).threads for name in "1212"] == [1, 2, 1, 2]


def test_a_question_sees_one_state_of_the_settings_and_the_next_one_the_new_state(tmp_path: Path) -> None:
    read = SteadySettings(lambda: load_settings(None, tmp_path / "user.json", {}, {}, {}))
    with read.steady():
        first = read()
        with read.steady():
            assert read() is first
        with ThreadPoolExecutor(1) as another_thread:
            assert another_thread.submit(read).result() is not first
        assert read() is first
    assert read() is not first
