"""The window that the command `transformer-viz` opens: once it is closed, the server is to end."""

import asyncio
import math
import time

OPENED = "TRANSFORMER_VIZ_WINDOW"
"""Environment variable that is "1" if the command opens a window."""

AFTER_GOODBYE = 10.0
"""Seconds without any connection after which a window whose page said goodbye is closed: one that is loaded
anew says so too.
"""

AFTER_SILENCE = 10 * 60.0
"""Seconds without any connection after which one that said nothing is: it may be suspended, or discarded."""

BEAT = 1.0
"""Seconds between two looks."""

LONGEST_BEAT = 2 * BEAT
"""Most seconds that count for one: a computer that was asleep has not waited for anybody."""


class Presence:
    """Who is connected to the server, and since when nobody is.

    Args:
        after_goodbye: Seconds after which a page that said goodbye is gone.
        after_silence: Seconds after which one that said nothing is.
    """

    def __init__(self, *, after_goodbye: float = AFTER_GOODBYE, after_silence: float = AFTER_SILENCE):
        self._after_goodbye, self._after_silence = after_goodbye, after_silence
        self._connections = 0
        self._now = self._last_sign = 0.0
        self._goodbye = -math.inf

    def connect(self) -> None:
        """Note that a page is connected."""
        self._connections += 1

    def disconnect(self) -> None:
        """Note that a page is no longer connected."""
        self._connections -= 1
        self.note_sign()

    def note_sign(self) -> None:
        """Note that a page asks for something: it is being loaded."""
        self._last_sign = self._now

    def note_goodbye(self) -> None:
        """Note that a page says that it goes."""
        self._goodbye = self._now

    def advance(self, seconds: float) -> bool:
        """Let time pass; return whether everybody is gone for good."""
        self._now += min(seconds, LONGEST_BEAT)
        is_last_word = (
            abs(self._last_sign - self._goodbye) <= self._after_goodbye
        )  # not another page's, long ago
        patience = self._after_goodbye if is_last_word else self._after_silence
        return not self._connections and self._now - self._last_sign >= patience


async def until_closed(presence: Presence) -> None:
    """Wait until the window is closed."""
    before = time.monotonic()
    while True:
        await asyncio.sleep(BEAT)
        now = time.monotonic()
        if presence.advance(now - before):
            return
        before = now
