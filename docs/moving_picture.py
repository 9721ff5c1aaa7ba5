"""The moving picture of the README, which docs/pictures.py takes with the others.

A sentence is typed and its words are tinted, another head is chosen, and the word that the answer hangs on is
taken away.
"""

import io
from typing import NamedTuple
from urllib.parse import urlencode

import pictures
from PIL import Image, ImageDraw

SIZE = (1200, 780)
TYPED, STEP, RESULT = 110, 500, 2_200
"""Milliseconds that a frame stands: one of typing, one on the way, one to be read."""


class Scene(NamedTuple):
    """A model and its sentence, a word that is typed into it, where, and the head that is shown."""

    model: str
    start: str
    typed: str
    rest: str
    head: int


SCENES = {
    "en": Scene("imdb-sentiment", "This film was ", "not ", "good.", 11),
    "zh": Scene("reviews-zh", "房间", "不", "干净。", 2),
}
"""Language -> its scene; heads are counted from 0 over all layers."""

ARROW = ((0, 0), (0, 22), (5, 17), (9, 26), (13, 24), (9, 15), (16, 15))


class Film:
    """The frames of one page, each with the pointer where it is, and how long each stands."""

    def __init__(self, page):
        """Film a page."""
        self.page = page
        self.frames, self.times = [], []
        self.pointer = (520, 240)

    def shoot(self, milliseconds):
        """Add the page as it is now."""
        frame = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        corners = [(self.pointer[0] + x, self.pointer[1] + y) for x, y in ARROW]
        ImageDraw.Draw(frame).polygon(corners, fill="black", outline="white", width=1)
        self.frames.append(frame)
        self.times.append(milliseconds)

    def click(self, locator):
        """Move the pointer to an element in three steps, and click it."""
        box = locator.bounding_box()
        start, end = self.pointer, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for step in (0.4, 0.8, 1.0):
            self.pointer = tuple(a + step * (b - a) for a, b in zip(start, end, strict=True))
            self.shoot(TYPED)
        self.page.mouse.move(*end)
        self.shoot(STEP)
        locator.click()
        pictures.settled(self.page)

    def save(self, path):
        """Write the animation, which starts anew after its last frame."""
        first, *others = self.frames
        first.save(
            path, save_all=True, append_images=others, duration=self.times, loop=0, quality=80, method=6
        )


def play(page, scene):
    """Type the word of a scene on a page that shows its sentence, and return the film of that."""
    film = Film(page)
    film.shoot(RESULT)
    film.click(page.locator(".bench .edit"))
    box = page.locator(".bench .box")
    box.press("End")
    for _ in scene.rest:
        box.press("ArrowLeft")
    for letter in scene.typed:
        box.press_sequentially(letter)
        film.shoot(TYPED * 2)
    box.press("Enter")
    pictures.settled(page)
    film.shoot(RESULT)
    film.click(page.locator(".head").nth(scene.head))
    film.shoot(RESULT)
    word = page.locator(".bench .word[role=button]", has_text=scene.typed.strip())
    film.click(word)
    film.click(page.locator(".bench .chosen button").first)
    film.shoot(RESULT * 2)
    return film


def take(browser, home, language, path):
    """Film the app at an address in one language."""
    scene = SCENES[language]
    query = {"lang": language, "model": scene.model, "text": scene.start + scene.rest}
    page = pictures.opened(browser, f"{home}/?{urlencode(query)}", *SIZE, "light")
    play(page, scene).save(path)
    page.context.close()
