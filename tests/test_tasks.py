import datetime

import pytest

from transformer_viz.data.tasks import MONTHS, TASKS

PAIRED = ["reverse", "copy", "sort", "dates", "addition", "parity"]


def right(name, text):
    """Solve a task by other means."""
    words = text.split()
    if name == "reverse":
        return " ".join(reversed(words))
    if name == "copy":
        return text
    if name == "sort":
        return " ".join(sorted(words, key=int))
    if name == "addition":
        return " ".join(str(sum(map(int, text.replace(" ", "").split("+")))))
    if name == "parity":
        return "odd" if words.count("1") % 2 else "even"
    joined = "".join(words).replace(",", "")
    month = next(i for i, name in enumerate(MONTHS, 1) if name[:3] in joined)
    digits = joined.replace(MONTHS[month - 1], " ").replace(MONTHS[month - 1][:3], " ")
    day, year = digits[:-4].strip(), digits[-4:]
    return " ".join(datetime.date(int(year), month, int(day)).isoformat())


@pytest.mark.parametrize("name", PAIRED)
def test_every_target_is_right(name):
    for text, target in TASKS[name].pairs(300):
        assert target == right(name, text)


def test_repeated_letters_are_repeated():
    for text, target in TASKS["repeat"].pairs(200):
        letters = text.split()
        periods = [p for p in range(3, 17) if letters[p:] == letters[:-p]]
        assert target is None
        assert periods
        assert len(letters) >= 2 * periods[0]


@pytest.mark.parametrize("name", TASKS)
def test_texts_are_different_and_follow_from_the_seed(name):
    pairs = TASKS[name].pairs(400, seed=3)
    texts = {text for text, _ in pairs}
    assert len(texts) == 400
    assert pairs == TASKS[name].pairs(400, seed=3)
    assert not texts & {text for text, _ in TASKS[name].pairs(200, seed=4, unlike=texts)}


def test_a_task_with_too_few_texts_says_so():
    texts = {text for text, _ in TASKS["parity"].pairs(20)}
    with pytest.raises(ValueError, match="The task 'few' has too few different texts for 5 more"):
        type(TASKS["parity"])("few", lambda random: (sorted(texts)[0], "odd")).pairs(5)
