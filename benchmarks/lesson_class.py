"""A class with the lessons, in headless Chromium: how many clicks it takes, and how long it waits.

`python benchmarks/lesson_class.py [--minutes 45] [--language zh]`. Starts the app itself, opens the Lessons
page, and goes through the lessons that fit into so many minutes of talk: open, reveal, next. The class
guesses by raising hands, which costs no click. A wait lasts from a click until the page has stopped running
and its workbench is answered, and two frames longer.
"""

import argparse
import time

from browser import CHROMIUM, FRAMES
from playwright.sync_api import sync_playwright
from server import running_app

from transformer_viz.lessons.read import list_lessons

RESTED = 300
"""Milliseconds without a run or a question after which the page has stopped."""

ASKING = """
const fetched = window.fetch;
window.__asking = 0;
window.fetch = async (...asked) => {
    window.__asking++;
    const response = await fetched(...asked).catch((error) => { window.__asking--; throw error; });
    response.clone().arrayBuffer().catch(() => {}).finally(() => window.__asking--);
    return response;
};
"""
"""Counts what is asked and not answered to the last byte."""

STOPPED = f"""() => new Promise(done => {{
    const app = document.querySelector('[data-testid=stApp]');
    let since = performance.now();
    const check = () => {{
        if (app.dataset.testScriptState !== 'notRunning' || window.__asking) since = performance.now();
        if (performance.now() - since > {RESTED}) {FRAMES}.then(done); else requestAnimationFrame(check);
    }};
    check();
}})"""


def main():
    """Print a line for each lesson, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=int, default=45, help="of talk (default 45)")
    parser.add_argument("--language", choices=("en", "zh"), default="en")
    arguments = parser.parse_args()
    lessons, minutes = [], 0
    for lesson in list_lessons(arguments.language).lessons:
        minutes += lesson.minutes
        if minutes <= arguments.minutes:
            lessons.append(lesson)
    with running_app() as (_, port), sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 720})
        page.add_init_script(ASKING)
        page.goto(f"http://127.0.0.1:{port}/lessons?lang={arguments.language}")
        page.locator(".st-key-leave-lesson-1 button").wait_for()
        waits = []
        for number, lesson in enumerate(lessons):
            turn = ".st-key-turn-next button" if number else ".st-key-leave-lesson-1 button"
            opened = waited(page, turn, f".st-key-lesson >> text={lesson.title}")
            revealed = waited(page, ".st-key-lesson-reveal button", ".st-key-lesson-part-shown")
            waits += [opened, revealed]
            print(
                f"{lesson.minutes:3} min  open {opened:5.1f} s  reveal {revealed:5.1f} s  {lesson.title}",
                flush=True,
            )
        chromium.close()
    talk = sum(lesson.minutes for lesson in lessons)
    print(f"{talk} minutes, {len(lessons)} lessons: {len(waits)} clicks, {sum(waits):.0f} s of waiting")


def waited(page, click, then):
    """Click, and return the seconds until something is there and the page has stopped."""
    began = time.perf_counter()
    page.locator(click).click()
    page.locator(then).first.wait_for(timeout=120_000)
    page.evaluate(STOPPED)
    return time.perf_counter() - began - RESTED / 1000


if __name__ == "__main__":
    main()
