"""The server's own answers over HTTP: headers, health, closed routes, and no request to any other server."""

import contextlib
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest
from processes import children
from running_app import running

from transformer_viz.pictures import views
from transformer_viz.ui.shell.web import KEPT_SECONDS

PAGES = ["/", "/train", "/_stcore/health", "/static/nothing.js", "/_stcore/host-config"]


def get(url, **headers):
    """Return status, headers and body of a response."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
            return response.status, response.headers, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


@pytest.mark.parametrize("page", PAGES)
def test_every_response_says_what_a_browser_may_do_with_it(app, page):
    headers = get(app[1] + page)[1]
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe-inline" not in headers["Content-Security-Policy"].replace(
        "style-src 'self' 'unsafe-inline'", ""
    )
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_a_script_written_into_a_page_does_not_run(app, browser):
    page = browser.new_page()
    page.goto(app[1])
    page.locator(".lens .says").wait_for()
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.__x = 1\">')")
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.__x = 2'}))"
    )
    page.wait_for_timeout(500)
    assert page.evaluate("window.__x") is None
    page.close()


@pytest.mark.parametrize("folder", ["/views", "/base/path/views"])
def test_modules_are_kept_by_the_browser(app, folder):
    status, headers, body = get(f"{app[1]}{folder}/{views.version()}/lens.js")
    assert (status, body) == (200, views.served_modules()["lens.js"])
    assert headers["Content-Type"].startswith("text/javascript")
    assert "immutable" in headers["Cache-Control"]


@pytest.mark.parametrize("path", ["0123456789abcdef/lens.js", "{version}/nothing.js", "{version}/modules.py"])
def test_only_modules_of_this_version_are_served(app, path):
    status, headers, _ = get(f"{app[1]}/views/{path.format(version=views.version())}")
    assert status == 404
    assert "Cache-Control" not in headers


def test_modules_that_others_may_keep_carry_no_cookie_of_a_visitor(models_folder):
    with running(TRANSFORMER_VIZ_CLASSROOM=1) as (_, home):
        assert "Set-Cookie" in get(home)[1]
        assert "Set-Cookie" not in get(f"{home}/views/{views.version()}/lens.js")[1]


def test_every_module_finds_what_it_imports(app, new_visitor):
    page = new_visitor()
    page.goto(app[1])
    addresses = [f"/views/{views.version()}/{name}" for name in views.served_modules()]
    load = "(addresses) => Promise.all(addresses.map(async (one) => Object.keys(await import(one)).length))"
    assert all(page.evaluate(load, addresses))


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/metrics/", "/models/_stcore/metrics"])
def test_counts_of_the_server_are_not_public(app, path):
    status, _, body = get(app[1] + path)
    assert "cache_memory_bytes" not in body
    assert status == 404


def test_health_asks_the_engine(app):
    server, home = app
    assert get(home + "/health")[::2] == (200, "ok")
    for child in children(server.pid):
        os.kill(child, signal.SIGSTOP)
    time.sleep(KEPT_SECONDS)
    answered = []
    asking = [threading.Thread(target=lambda: answered.append(get(home + "/health")[0])) for _ in range(60)]
    for each in asking:
        each.start()
    asking[0].join(2)
    assert asking[0].is_alive()  # the port is open; the engine does not answer
    assert get(home)[0] == 200
    assert answered == []  # nor was the page kept waiting until it does
    for child in children(server.pid):
        os.kill(child, signal.SIGCONT)
    for each in asking:
        each.join()
    assert answered == [200] * 60


class Listener:
    """A proxy that notes every connection and closes it."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.connections = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def _listen(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection.recv(1000))
            connection.close()


@pytest.mark.parametrize("everywhere", [False, True])
def test_no_other_server_is_asked_for_anything(models_folder, monkeypatch, everywhere):
    """Neither at the start on all addresses, nor when a page of another origin knocks."""
    proxy = Listener()
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    if everywhere:
        monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")
    with contextlib.closing(proxy.socket):
        with pytest.raises(OSError, match="closed connection"):
            urllib.request.build_opener().open("http://elsewhere.example")
        assert [b"elsewhere.example" in request for request in proxy.connections] == [True]
        proxy.connections.clear()
        with running() as (_, address):
            knock(int(address.rpartition(":")[2]), "http://elsewhere.example")
            time.sleep(1)
            assert get(address)[0] == 200
    assert proxy.connections == []


def knock(port, origin):
    """Ask for the websocket as a page of another origin does; it is refused."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        lines = (
            "GET /_stcore/stream HTTP/1.1",
            f"Host: localhost:{port}",
            f"Origin: {origin}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Version: 13",
        )
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert b" 403 " in connection.recv(1000)
