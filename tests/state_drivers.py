"""What opens a random state of the app and chooses something on its page: the harness, or a browser."""

from random import Random

from bench import bench_on
from chinese import is_chinese
from pages import again, components, open_page
from playwright.sync_api import Page, expect
from states import JUNK, TEXTS, State

from transformer_viz.language import Words

NOT_OFFERED = "The page that you have requested does not seem to exist."
"""What Streamlit says of an address that is none of the app's pages."""

WRITING = ("train", "models", "teacher")
"""Pages whose buttons train, rename and delete."""

SAYS = ("error", "warning", "info", "toast")
"""Kinds of elements with sentences of the app's own."""

FAULTS = ("engine.unexpected", "engine.died")
"""Sentences that no text, model or choice may lead to."""


class AppDriver:
    """Opens states in Streamlit's own test harness."""

    def open(self, state: State) -> None:
        """Open a state, choose something, and open the address that results for a visitor who comes anew.

        Raises:
            AssertionError: If the page or the engine fails, or the page says something in another language.
        """
        random = Random(state.number)
        app = open_page(state.page, **state.address)
        check_what_is_said(app)
        open_workbench(app, random, acts=state.acts)
        for _ in range(state.acts):
            choose_something(app, random, with_buttons=state.page not in WRITING)
            again(app)
            check_what_is_said(app)
        if state.acts:
            anew = open_page(**{name: value_of(part) for name, part in app.query_params.items()})
            anew._page_hash = app._page_hash
            again(anew)


def open_workbench(app, random: Random, *, acts: int) -> None:
    """Ask what the workbench of a page shows, if it has one, and do something there as a visitor may."""
    if not components(app, "workbench"):
        return
    bench = bench_on(app)
    check_answer(bench)
    for _ in range(acts):
        if offered := [*offered_by(bench, random)]:
            random.choice(offered)()
            check_answer(bench)


def check_answer(bench):
    """An answer is a picture, or says in the visitor's language why there is none; nothing has failed."""
    words, header = Words(bench.state["language"]), bench.header
    said = header.get("problem") or header.get("hint", "")
    faults = tuple(words.sentences[key].partition("{")[0] for key in (*FAULTS, "unexpected.sorry"))
    assert "left_out" not in header, header
    assert not said.startswith(faults), said
    assert "key" in header or said
    assert words.language == "en" or not said or is_chinese(said), said


def offered_by(bench, random: Random):
    """Yield what can be pressed on a workbench."""
    views = bench.views or {"said": {}}
    said = views["said"]
    pressed = [*said.get("answer", ()), *said.get("notes", ()), *(views.get("acts") or {}).get("chips", ())]
    for act in [each["act"] for each in pressed if each.get("act")]:
        yield lambda act=act: bench.ask(act=act)
    menu = said.get("experiment")
    for each in menu["groups"] if menu else ():
        value = random.choice(each["options"])[0]
        yield lambda name=each["name"], value=value: bench.choose(**{name: value})
    for each in menu["sliders"] if menu else ():
        value = str(random.randint(each["low"], each["high"]))
        yield lambda name=each["name"], value=value: bench.choose(**{name: value})
    for each in menu["switches"] if menu else ():
        value = "" if each["on"] else "1"
        yield lambda name=each["name"], value=value: bench.choose(**{name: value})


def value_of(part):
    return part[0] if isinstance(part, list) else part


def check_what_is_said(app):
    """No page says that the engine failed; Chinese pages say nothing in English."""
    words = Words(app.session_state.lang)
    said = [element.value for kind in SAYS for element in getattr(app, kind)]
    faults = tuple(words.sentences[key].partition("{")[0] for key in FAULTS)
    failed = [text for text in said if text.startswith(faults)]
    foreign = [text for text in said if words.language == "zh" and not is_chinese(text)]
    assert not failed, failed
    assert not foreign, foreign


def choose_something(app, random: Random, *, with_buttons: bool) -> None:
    """Change one thing on a page as a visitor may."""
    kinds = ("button_group", "selectbox", "slider", "toggle", "checkbox", "select_slider", "text_input")
    found = [each for kind in (*kinds, "multiselect") for each in getattr(app, kind) if not each.disabled]
    if with_buttons:
        found += [each for each in app.button if not each.disabled]
    chosen = random.choice(found)
    match chosen.type:
        case "button":
            chosen.click()
        case "toggle" | "checkbox":
            chosen.set_value(not chosen.value)
        case "text_input":
            chosen.set_value(random.choice([*TEXTS, *JUNK[:-1]]))
        case "slider":
            choose_on_slider(chosen, random)
        case "multiselect":
            chosen.set_value(random.sample(chosen.options, min(len(chosen.options), 2)))
        case "button_group" if chosen.proto.click_mode == chosen.proto.MULTI_SELECT:
            chosen.set_value([each for each in chosen.options if random.random() < 0.4])
        case _:
            chosen.set_value(random.choice(chosen.options))


def choose_on_slider(slider, random: Random) -> None:
    steps = round((slider.max - slider.min) / slider.step)
    place = slider.min + random.randint(0, steps) * slider.step
    slider.set_value([slider.min, place] if isinstance(slider.value, tuple | list) else place)


class BrowserDriver:
    """Opens states in a browser.

    Args:
        home: Address of the app.
        new_page: Returns an empty page, with options of the browser's context.
    """

    def __init__(self, home: str, new_page):
        self.home, self.new_page = home, new_page

    def open(self, state: State) -> None:
        """Open a state and press something on its page.

        Raises:
            AssertionError: If a script fails, or the page could not be opened as it was asked for.
        """
        page: Page = self.new_page(color_scheme="dark" if state.dark else "light")
        failed = []
        page.on("pageerror", lambda error: failed.append(str(error)))
        hidden = (NOT_OFFERED,) if state.page == "teacher" else ()  # this app has no teacher
        page.on(
            "console",
            lambda message: (
                is_fault(message) and not message.text.startswith(hidden) and failed.append(message.text)
            ),
        )
        page.goto(self.home + state.path)
        self.check(page, failed)
        random = Random(state.number)
        for _ in range(state.acts if state.page not in WRITING else 0):
            page.evaluate(PRESS, random.random())
            self.check(page, failed)
        page.close()

    @staticmethod
    def check(page: Page, failed: list[str]) -> None:
        expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
        page.wait_for_timeout(200)  # for the views, which draw a frame later
        expect(page.locator(".st-key-unexpected-report, .stException")).to_have_count(0)
        assert not failed, failed


def is_fault(message) -> bool:
    """Return whether the console says an error; Streamlit looks for its own routes below a page first."""
    return message.type == "error" and "/_stcore/" not in message.location["url"]


PRESS = """(share) => {
  const elsewhere = "a, .stDownloadButton *, [class*=st-key-leave-] *, [data-key^=download]";
  const found = [...document.querySelectorAll("button, summary, canvas, label input, select")].filter(
    (each) => each.checkVisibility() && !each.disabled && !each.matches(elsewhere));
  const chosen = found[Math.floor(share * found.length)];
  if (chosen instanceof HTMLSelectElement) {
    chosen.selectedIndex = Math.floor(share * 1000) % chosen.options.length;
    chosen.dispatchEvent(new Event("change", { bubbles: true }));
  } else chosen?.click();
}"""
"""Presses one of all controls of a page, by a number from 0 to 1."""
