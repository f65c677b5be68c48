"""scripts/train/train-chunks: which chunks a commit changed, and how the weights are fitted."""

from __future__ import annotations

import numpy as np

from scripts.suffixless import load_script
from scripts.train.rankerlib import MESSAGE, Example, fit_long, fit_message
from sidecar.engine.search.rank import chunk_choice
from sidecar.engine.search.rank.features import FEATURES

TRAINER = load_script("train/train-chunks")
NAMES = [feature.name for feature in FEATURES]
DIFF = """\
diff --git a/src/pool.py b/src/pool.py
--- a/src/pool.py
+++ b/src/pool.py
@@ -10,4 +10,4 @@ def take():
     connection = self.idle.pop()
-    return connection.opened
+    return connection
     }
@@ -40,2 +40,3 @@ def give():
     self.idle.append(connection)
+    self.idle.sort()
diff --git a/src/new.py b/src/new.py
--- /dev/null
+++ b/src/new.py
@@ -0,0 +1 @@
+nothing = None
"""


def example(column: str, right: int, repository: str = "r", files: int = 4) -> Example:
    """Returns a question of which only the answer has this feature."""
    features = np.zeros((files, len(FEATURES)), np.float32)
    features[right, NAMES.index(column)] = 1
    labels = np.zeros(files, np.float32)
    labels[right] = 1
    return Example(repository, "", "error", "q", [], features, labels)


def test_a_diff_gives_removed_lines_and_those_around_them_by_the_path_before_it() -> None:
    assert TRAINER.parsed_hunks(DIFF) == {
        "src/pool.py": [
            (["return connection.opened"], ["connection = self.idle.pop()"]),
            ([], ["self.idle.append(connection)"]),
        ]
    }


def test_the_chunk_with_the_removed_lines_is_the_one_that_was_changed() -> None:
    hunks = [(["return connection.opened"], ["connection = self.idle.pop()"])]
    texts = [{"connection = self.idle.pop()"}, {"return connection.opened", "connection = self.idle.pop()"}, set()]
    assert TRAINER.holders_of(hunks, texts) == [False, True, False]
    assert TRAINER.holders_of([([], ["one line around"])], [{"one line around"}]) == [False]
    assert TRAINER.holders_of(hunks, []) == []


def test_annotated_lines_count_more_than_changed_ones() -> None:
    features = np.zeros((2, len(chunk_choice.FEATURES)), np.float32)
    features[0, 0] = 1
    first, second = (
        [Example("r", "", "", "q", [], features, np.array(labels, np.float32))] * 40 for labels in ([1, 0], [0, 1])
    )
    assert TRAINER.weigh(first, second, set())[0] > 0 > TRAINER.weigh(second, first, set())[0]
    assert not TRAINER.weigh(first, second, set())[1:].any()


def test_the_weight_of_a_message_is_fitted_alone_and_only_where_a_file_has_one() -> None:
    before = np.ones(len(FEATURES), np.float32)
    examples = [example(MESSAGE, n % 4) for n in range(20)]
    after = fit_message([*examples, example("best_chunk", 1)], before)
    column = NAMES.index(MESSAGE)
    assert after[column] > before[column]
    assert np.delete(after, column).tolist() == np.delete(before, column).tolist()
    assert fit_message([example("best_chunk", 1)], before).tolist() == before.tolist()


def test_long_questions_start_from_the_weights_of_all_others_and_move_to_what_answers_them() -> None:
    before = np.ones(len(FEATURES), np.float32)
    after = fit_long([example("head_strength", n % 4) for n in range(20)], before)
    column = NAMES.index("head_strength")
    assert after[column] > before[column]
    assert np.delete(after, column).tolist() == np.delete(before, column).tolist()
