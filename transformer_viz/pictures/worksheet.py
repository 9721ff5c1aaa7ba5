"""Lessons on paper: for students with lines to write on, for the teacher with answers and notes."""

import html
from collections.abc import Sequence

from markdown_it import MarkdownIt

from transformer_viz.language import TAGS, Words
from transformer_viz.lessons.lesson import PAGES, Lesson

PAGE = """<!doctype html>
<html lang="{lang}">
<meta charset="utf-8">
<title>{title}</title>
<style>
@page {{ margin: 18mm }}
:root {{ color-scheme: light }}
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #18202e;
  font: 11pt/1.5 system-ui, sans-serif }}
h1 {{ margin: 0; font-size: 1.6rem }}
h2 {{ margin: 0; font-size: 1.15rem }}
h3 {{ margin: 0.6rem 0 0; font-size: 0.85rem; color: #1f5f99 }}
p {{ margin: 0.15rem 0 }}
section {{ break-inside: avoid; padding: 1.1rem 0; border-top: 1px solid #cfd6df }}
.question {{ font-weight: 650 }}
.open {{ color: #556072; font-size: 0.9rem; overflow-wrap: anywhere }}
.who {{ display: flex; gap: 1.5rem; margin: 0.8rem 0 1.4rem }}
.blank {{ display: flex; gap: 0.6rem; margin-top: 0.5rem }}
.blank::after {{ content: ""; flex: 1; min-width: 8rem; border-bottom: 1px solid #8a94a3 }}
.who .blank {{ flex: 1; margin: 0 }}
.line {{ height: 2.1rem; border-bottom: 1px solid #8a94a3 }}
@media print {{ body {{ margin: 0; padding: 0; max-width: none }} }}
</style>
<body>
<h1>{title}</h1>
{head}
{lessons}
</body>
</html>
"""

EXPLANATION_LINES = 2
"""Lines on which a student explains what happened."""

MARKDOWN = MarkdownIt("commonmark", {"html": False})
"""HTML in a lesson is shown as it is written, not obeyed."""


def worksheet(words: Words, lessons: Sequence[Lesson], *, for_teacher: bool = False) -> str:
    """Return the HTML of a page with all lessons, to be printed.

    Args:
        words: Sentences of the lessons' language.
        lessons: The lessons, in order.
        for_teacher: With answers, notes and sources; otherwise with lines to write on.
    """
    minutes = sum(lesson.minutes for lesson in lessons)
    about = html.escape(words("worksheet.about", count=len(lessons), minutes=minutes))
    who = "".join(_blank(words(f"worksheet.{each}")) for each in ("name", "date"))
    return PAGE.format(
        lang=TAGS[words.language],
        title=html.escape(words("worksheet.teacher" if for_teacher else "worksheet.title")),
        head=f"<p>{about}</p>" if for_teacher else f'<div class="who">{who}</div>',
        lessons="\n".join(
            _section(words, number, lesson, for_teacher) for number, lesson in enumerate(lessons, 1)
        ),
    )


def _section(words, number, lesson, for_teacher):
    """Return one lesson as HTML."""
    facts = [words("worksheet.open", model=lesson.model, text=lesson.text)]
    if lesson.page != PAGES[0]:
        facts.insert(0, words(f"{lesson.page}.nav"))
    if for_teacher:
        facts.insert(0, words("worksheet.minutes", minutes=lesson.minutes))
    parts = [
        f"<h2>{number} · {html.escape(lesson.title)}</h2>",
        f'<p class="question">{html.escape(lesson.question)}</p>',
        f'<p class="open">{html.escape(" · ".join(facts))}</p>',
        _titled(words("lesson.see"), MARKDOWN.render(lesson.see)),
        _titled(words("lesson.do"), MARKDOWN.render(lesson.do)),
        _asked(words, lesson, for_teacher),
    ]
    if for_teacher:
        source = f'<p class="open">{html.escape(lesson.source)}</p>'
        parts.append(_titled(words("lesson.shown"), MARKDOWN.render(lesson.reveal)))
        parts.append(_titled(words("worksheet.notes"), MARKDOWN.render(lesson.notes) + source))
    else:
        lines = '<div class="line"></div>' * EXPLANATION_LINES
        parts.append(_titled(words("worksheet.why"), lines))
    return f"<section>{''.join(parts)}</section>"


def _asked(words, lesson, for_teacher):
    """Return the question; for students, with lines for their prediction and for the model's answer."""
    if lesson.predict is None:
        return ""
    question = words(f"lesson.ask.{lesson.predict.ask}", query=lesson.predict.query)
    blanks = "" if for_teacher else "".join(_blank(words(f"worksheet.{each}")) for each in ("guess", "model"))
    return _titled(words("lesson.predict"), f"<p>{html.escape(question)}</p>{blanks}")


def _titled(title, content):
    return f"<h3>{html.escape(title)}</h3>{content}"


def _blank(label):
    return f'<div class="blank">{html.escape(label)}</div>'
