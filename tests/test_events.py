"""What TensorBoard gets to see, and what is said where it is not installed."""

from pathlib import Path

import pytest

from tsgen import training_loop as events
from tsgen.errors import MissingExtraError
from tsgen.training_loop import Events, require_tensorboard


def test_without_the_package_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "PACKAGE", "no_such_package")
    with Events(tmp_path, 0) as written:
        written.add(1, 2.0, 0.1, None)
    assert not list(tmp_path.iterdir())


def test_asked_for_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tsgen-ir\[tensorboard\]'"):
        require_tensorboard()


def test_an_interrupted_run_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    require_tensorboard()
    with Events(tmp_path, 0) as written:
        for step in (1, 2, 3):
            written.add(step, 5.0 - step, 0.1 * step, 0.5 if step == 2 else None)
    with Events(tmp_path, 2) as written:  # killed at step 3, resumed after 2
        written.add(3, 1.5, 0.3, 0.75)
    seen = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in seen.Scalars("loss")] == [(1, 4.0), (2, 3.0), (3, 1.5)]
    assert [(e.step, e.value) for e in seen.Scalars("validation")] == [(2, 0.5), (3, 0.75)]
    assert seen.Scalars("learning rate")[0].value == pytest.approx(0.1)
