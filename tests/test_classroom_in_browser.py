"""A class in a real browser: the cookie of the real server tells its visitors apart."""

import pytest
from playwright.sync_api import expect
from running_app import running
from small_models import write


@pytest.fixture(scope="module")
def address(explorer, tmp_path_factory):
    home = tmp_path_factory.mktemp("class")
    write(explorer, home / "models")
    environment = {
        "TRANSFORMER_VIZ_CLASSROOM": 1,
        "TRANSFORMER_VIZ_TEACHER": "open sesame",
        "TRANSFORMER_VIZ_RUNS": home / "runs",
        "TRANSFORMER_VIZ_MODELS": home / "models",
    }
    with running(**environment) as (_, address):
        yield address


def test_browsers_are_told_apart_and_known_again(new_visitor, address):
    ann, bob, teacher = (new_visitor() for _ in range(3))
    ann.goto(f"{address}/models")
    ann.get_by_role("button", name="Duplicate").first.click()
    ann.get_by_label("New name").fill("mine")
    ann.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
    expect(ann.get_by_role("heading", name="mine")).to_be_visible()

    bob.goto(f"{address}/?model=mine")
    expect(bob.get_by_test_id("stToast")).to_contain_text("mine")
    bob.locator(".lens .says").wait_for()

    ann.goto(f"{address}/?model=mine&text=A+dull+film.")
    ann.locator(".lens .says").wait_for()
    expect(ann.get_by_test_id("stToast")).to_have_count(0)

    expect(bob.get_by_role("link", name="Class")).to_have_count(0)
    teacher.goto(f"{address}/?teacher=open+sesame")
    teacher.get_by_role("link", name="Class").click()
    expect(teacher.get_by_role("heading", name="Visitors' models: 1")).to_be_visible()
    assert "sesame" not in teacher.url
