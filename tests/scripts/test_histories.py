"""Questions from a history are asked of the tree before them, whole and as a subject."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from scripts.suffixless import load_script
from scripts.train.histories import read_histories, unpack_tree
from scripts.train.rankerlib import Example, fit_history
from sidecar.engine.search.rank.features import FEATURES

NAMES = [feature.name for feature in FEATURES]


def git(folder: Path, *arguments: str) -> str:
    person = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", "-C", str(folder), *person, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.process
def test_the_newer_half_is_asked_of_the_tree_before_it_where_its_answers_are(tmp_path: Path) -> None:
    """A file that did not exist yet is no answer, and a question without an answer is not asked."""
    work, questions = tmp_path / "work", tmp_path / "questions"
    work.mkdir()
    questions.mkdir()
    git(work, "init", "-q")
    rows = []
    for number, name in enumerate(("cart.py", "stock.py", "orders.py", "later.py")):
        (work / name).write_text(f"number = {number}\n")
        git(work, "add", ".")
        subprocess.run(
            ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", name],
            env={"GIT_COMMITTER_DATE": f"{1_700_000_000 + number} +0000", "PATH": "/usr/bin:/bin:/usr/local/bin"},
            check=True,
        )
        title = f"Count the articles of the {name} once"
        rows.append(
            {
                "revision": git(work, "rev-parse", "HEAD"),
                "commit": "",
                "title": title,
                "question": f"{title}\n\nThey are lost.",
            }
        )
    changed = (["cart.py"], ["cart.py"], ["stock.py", "later.py"], ["later.py"])
    lines = [
        json.dumps({**row, "files": files, "tests": ["orders.py"]}) for row, files in zip(rows, changed, strict=True)
    ]
    (questions / "a+shop.jsonl").write_text("\n".join(lines))
    (tmp_path / "mirrors/a+shop").mkdir(parents=True)
    git(tmp_path, "clone", "-q", "--bare", str(work), str(tmp_path / "mirrors/a+shop/repo"))

    (history,) = read_histories(questions, tmp_path / "mirrors")
    assert (history.name, history.revision) == ("a+shop", rows[2]["revision"])
    assert [(asked.kind, asked.answers) for asked in history.questions] == [
        ("long", ("stock.py",)),
        ("subject", ("stock.py", "orders.py")),
    ]
    unpack_tree(tmp_path / "mirrors/a+shop/repo", history.revision, tmp_path / "tree")
    assert {path.name: path.read_text() for path in (tmp_path / "tree").iterdir()} == {
        "cart.py": "number = 0\n",
        "stock.py": "number = 1\n",
        "orders.py": "number = 2\n",
    }


def test_what_histories_teach_leaves_other_tests_and_all_other_weights_where_they_are() -> None:
    """Tests of likely files rank higher; other tests, and the weights learnt from short questions, do not change."""
    features = np.zeros((2, len(FEATURES)), np.float32)
    features[:, NAMES.index("is_test")] = 1
    features[1, NAMES.index("tests_others")] = 1
    example = Example("a", "", "subject", "q", [], features, np.array([1, 0], np.float32))
    before = np.linspace(-1, 1, len(FEATURES)).astype(np.float32)
    after = fit_history([example], before, range(len(FEATURES)))
    moved = dict(zip(NAMES, (after - before).tolist(), strict=True))
    assert moved["tests_others"] < -0.1
    assert abs(moved["is_test"] + moved["tests_others"]) < 1e-5
    assert all(value == 0 for name, value in moved.items() if name not in ("is_test", "tests_others", "named_in_text"))


def test_the_weights_know_nothing_of_projects_that_others_check_with() -> None:
    """With and without the questions of such a project, the same weights are fitted."""
    trainer = load_script("train/train-ranker")
    rng = np.random.default_rng(1)

    def asked(repository: str, category: str) -> Example:
        features = rng.normal(size=(6, len(FEATURES))).astype(np.float32)
        return Example(repository, "", category, "q", ["a"], features, np.array([1, 0, 0, 0, 0, 0], np.float32))

    def examples(repository: str, category: str) -> list[Example]:
        return [asked(repository, category) for _ in range(4)]

    kinds = ("semantic", "semantic", "long", "error")
    known = [examples("gin", category) for category in kinds]
    both = [[*some, *examples("flask", category)] for some, category in zip(known, kinds, strict=True)]
    used = range(len(FEATURES))
    assert trainer.weigh(trainer.Sets(*both), used) == trainer.weigh(trainer.Sets(*known), used)
    added = [[*some, *examples("sinatra", category)] for some, category in zip(known, kinds, strict=True)]
    assert trainer.weigh(trainer.Sets(*added), used) != trainer.weigh(trainer.Sets(*known), used)
