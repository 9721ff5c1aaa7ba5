"""What a visitor waits for in headless Chromium: the first heatmap, another head, a click for nothing.

`python benchmarks/browser.py`. Starts the app itself. A click counts until the heatmap of the new head is
painted (its image replaced and two animation frames passed); a click that changes nothing until Streamlit
says that the run has ended.
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
CLICKS = 20

PAINTED = """() => new Promise(done => {
    const before = document.querySelector('.heatmaplayer image')?.getAttribute('href');
    const check = () => {
        const now = document.querySelector('.heatmaplayer image')?.getAttribute('href');
        const painted = () => done(performance.now());
        if (now && now !== before) requestAnimationFrame(() => requestAnimationFrame(painted));
        else requestAnimationFrame(check);
    };
    window.__clicked();
    check();
}).then(end => end - window.__start)"""

ENDED = """() => new Promise(done => {
    const app = document.querySelector('[data-testid=stApp]');
    let ran = false;
    const check = () => {
        const state = app.getAttribute('data-test-script-state');
        ran ||= state === 'running';
        if (ran && state === 'notRunning') requestAnimationFrame(() => done(performance.now()));
        else setTimeout(check, 0);
    };
    window.__clicked();
    check();
}).then(end => end - window.__start)"""


def main():
    """Print the figures."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    begin = time.perf_counter()
    command = ["streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    app = subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health")
        with sync_playwright() as playwright:
            flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            page.goto(f"http://localhost:{port}")
            page.locator("[data-testid=stTextArea]").wait_for()
            frame = time.perf_counter() - begin
            page.locator(".heatmaplayer .hm").wait_for()
            print(f"from the command to the frame of the page  {frame:6.2f} s")
            print(f"from the command to the first heatmap      {time.perf_counter() - begin:6.2f} s")
            measure(page, app.pid)
            browser.close()
    finally:
        app.terminate()
        app.wait()


def measure(page, pid):
    """Print click times and the processor time of one run of the server."""
    heads = page.get_by_role("radiogroup", name="Head").get_by_role("radio")
    page.wait_for_timeout(1000)
    used = processor_seconds(pid)
    head = [click(page, heads.nth(1 + i % 2), PAINTED) for i in range(CLICKS)]
    button = page.get_by_role("button", name="Show attention")
    nothing = [click(page, button, ENDED) for _ in range(CLICKS)]
    used = (processor_seconds(pid) - used) / (2 * CLICKS)
    print(f"another head, click to painted             {statistics.median(head):6.0f} ms")
    print(f"a click that changes nothing               {statistics.median(nothing):6.0f} ms")
    print(f"processor time of the server for one run   {1000 * used:6.1f} ms")


def click(page, element, until):
    """Return the milliseconds from the click to what it is measured by."""
    handle = element.element_handle()
    page.evaluate("e => window.__clicked = () => { window.__start = performance.now(); e.click() }", handle)
    taken = page.evaluate(until)
    page.wait_for_timeout(150)
    return taken


def processor_seconds(pid):
    """Return the user and system time of one process, without its children (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(address):
    """Wait until a server answers."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(address)


if __name__ == "__main__":
    main()
