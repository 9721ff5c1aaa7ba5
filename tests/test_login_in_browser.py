"""Logging in with Streamlit's own OpenID Connect, against a provider on this machine."""

import pytest
from login_provider import PASSWORD, USER, provider
from playwright.sync_api import expect
from running_app import free_port, start_app

SECRETS = """
[auth]
redirect_uri = "{home}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "transformer-viz"
client_secret = "none of yours"
server_metadata_url = "{metadata}"
"""


@pytest.fixture(scope="module")
def address(models_folder, tmp_path_factory):
    port, secrets = free_port(), tmp_path_factory.mktemp("secrets") / "secrets.toml"
    home = f"http://localhost:{port}"
    with provider(free_port()) as metadata:
        secrets.write_text(SECRETS.format(home=home, metadata=metadata))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STREAMLIT_SECRETS_FILES", str(secrets))
            app = start_app(port)
        yield home
        app.kill()
        app.wait()


@pytest.mark.thorough
def test_only_who_has_logged_in_sees_the_app(new_visitor, address):
    page = new_visitor()
    page.goto(f"{address}/?model=small")
    page.get_by_role("button", name="Log in").wait_for()
    expect(page.locator(".lens")).to_have_count(0)
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("User").fill(USER)
    page.get_by_label("Password").fill("wrong")
    with page.expect_navigation() as refusal:
        page.get_by_role("button", name="Sign in").click()
    assert refusal.value.status == 401
    expect(page.get_by_text("Wrong password")).to_be_visible()
    page.get_by_label("User").fill(USER)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".lens .says").wait_for()
    expect(page.get_by_text("Logged in as Ada")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Log in").wait_for()
    expect(page.locator(".lens")).to_have_count(0)
