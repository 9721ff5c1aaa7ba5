"""One child and its queue: whose clock runs when, and who suffers when a child ends."""

import functools
import operator
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from processes import suspended

from transformer_viz.service.engine import EngineError, child
from transformer_viz.service.engine.worker import BEAT, Worker

PLENTY = 60


@pytest.fixture(scope="module", autouse=True)
def without_keras():
    """Let children start at once: no question here needs Keras."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "import_keras", child.ping)
        yield


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    worker.start().result()
    yield worker
    worker.close()


@pytest.fixture
def visitors():
    with ThreadPoolExecutor(8) as threads:
        yield threads


def test_the_clock_of_a_question_starts_when_work_on_it_starts(worker, visitors):
    """Each takes less than its limit; together they take more."""
    asked = [visitors.submit(worker.ask, time.sleep, 1.2, limit=4) for _ in range(4)]
    assert [each.result() for each in asked] == [None] * 4


def test_a_limit_is_charged_to_the_asker_alone(worker, visitors):
    restarts = worker.restarts
    slow = visitors.submit(worker.ask, time.sleep, 60, limit=1)
    time.sleep(BEAT)
    others = [visitors.submit(worker.ask, operator.add, i, 1, limit=PLENTY) for i in range(5)]
    with pytest.raises(EngineError, match="slow, seconds = 1") as caught:
        slow.result()
    assert (caught.value.code, caught.value.facts) == ("slow", {"seconds": 1})
    assert [each.result() for each in others] == [1, 2, 3, 4, 5]
    assert worker.restarts == restarts + 1


def test_a_cheap_question_that_is_late_is_asked_again_of_a_new_child(worker):
    restarts = worker.restarts
    with suspended(worker.pid):
        assert worker.ask(operator.add, 1, 1, limit=3, is_cheap=True) == 2
    assert worker.restarts == restarts + 1
    with pytest.raises(EngineError, match=r"busy, seconds = 0\.5"):
        worker.ask(time.sleep, PLENTY, limit=0.5, is_cheap=True)
    assert worker.restarts == restarts + 3


@pytest.mark.parametrize(("then", "says"), [(time.sleep, "slow, seconds = 1"), (os._exit, "died")])
def test_an_answer_of_which_half_arrives_is_late_or_none(monkeypatch, then, says):
    monkeypatch.setattr(child, "serve", functools.partial(answer_by_half, then))
    worker = Worker()
    with pytest.raises(EngineError, match=says):
        worker.ask(operator.add, 1, 1, limit=1)
    worker.close()


def answer_by_half(then, pipe, *_):
    pipe.send(None)
    pipe.recv()
    os.write(pipe.fileno(), (1000).to_bytes(4) + b"half of an answer")  # its length, then its bytes
    then(PLENTY)


def test_a_question_may_raise_a_timeout_of_its_own(worker):
    restarts = worker.restarts
    with pytest.raises(TimeoutError, match="a file that is locked"):
        worker.ask(raise_timeout, limit=PLENTY)
    assert worker.restarts == restarts


def raise_timeout():
    raise TimeoutError("a file that is locked")


def test_a_question_that_ends_the_child_twice_is_an_error_and_those_that_wait_are_answered(worker, visitors):
    restarts = worker.restarts
    fatal = visitors.submit(worker.ask, os._exit, 1, limit=PLENTY)
    others = [visitors.submit(worker.ask, operator.add, i, 1, limit=PLENTY) for i in range(5)]
    with pytest.raises(EngineError, match="died"):
        fatal.result()
    assert [each.result() for each in others] == [1, 2, 3, 4, 5]
    assert worker.restarts == restarts + 2


def test_a_question_whose_child_is_killed_is_asked_again(worker, visitors, tmp_path):
    begun = tmp_path / "begun"
    answer = visitors.submit(worker.ask, begin_and_wait_once, begun, limit=PLENTY)
    while not begun.exists():
        time.sleep(0.01)
    os.kill(worker.pid, signal.SIGKILL)
    assert answer.result() == "again"


def begin_and_wait_once(begun):
    if not begun.exists():
        begun.touch()
        time.sleep(PLENTY)
    return "again"


def test_a_child_has_the_environment_of_its_parent_as_it_is_when_the_child_starts(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_TEST", "set after other children have started")
    worker = Worker()
    assert worker.ask(os.getenv, "TRANSFORMER_VIZ_TEST", limit=PLENTY) == os.environ["TRANSFORMER_VIZ_TEST"]
    worker.close()


def fail_once(failed):
    if not failed.exists():
        failed.touch()
        raise MemoryError


def test_a_child_that_cannot_start_is_replaced_and_the_question_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "import_keras", functools.partial(fail_once, tmp_path / "failed"))
    worker = Worker()
    assert worker.ask(operator.add, 1, 1, limit=PLENTY) == 2
    assert worker.restarts == 1
    worker.close()


def test_an_engine_that_cannot_start_says_so_and_starts_once_it_can(monkeypatch):
    worker = Worker()
    with monkeypatch.context() as patch:
        patch.setattr(child, "import_keras", functools.partial(operator.truediv, 1, 0))
        with pytest.raises(EngineError, match="start"):
            worker.ask(operator.add, 1, 1, limit=PLENTY)
    assert worker.ask(operator.add, 1, 1, limit=PLENTY) == 2
    worker.close()


def test_a_question_that_is_given_up_leaves_the_queue(worker, visitors, tmp_path):
    class LeftError(Exception):
        pass

    def leave(stage):
        assert stage == "waiting"
        raise LeftError

    freed = tmp_path / "freed"
    busy = visitors.submit(worker.ask, wait_for, freed, limit=PLENTY)
    time.sleep(BEAT / 2)
    with pytest.raises(LeftError):
        worker.ask(begin_and_wait_once, tmp_path / "never", limit=PLENTY, beat=leave)
    freed.touch()
    busy.result()
    assert worker.ask(operator.add, 1, 1, limit=PLENTY) == 2
    assert not (tmp_path / "never").exists()


def wait_for(path):
    while not path.exists():
        time.sleep(0.01)


def test_who_waits_while_the_app_ends_is_told_so(visitors):
    worker = Worker()
    first = visitors.submit(worker.ask, time.sleep, PLENTY, limit=PLENTY)
    second = visitors.submit(worker.ask, operator.add, 1, 1, limit=PLENTY)
    while worker.pid is None:
        time.sleep(0.01)
    worker.close()
    for each in (first, second):
        with pytest.raises(EngineError, match="closed"):
            each.result()
    with pytest.raises(EngineError, match="closed"):
        worker.submit(operator.add, 1, 1, limit=PLENTY)
