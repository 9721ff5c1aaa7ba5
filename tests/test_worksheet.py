"""Lessons on paper: what students and teachers get, in both languages, and what a lesson may contain."""

import re

import pytest

from transformer_viz.language import LANGUAGES, Words
from transformer_viz.lessons.read import SHIPPED, read_lesson
from transformer_viz.pictures.worksheet import worksheet

NAMES = sorted(path.stem for path in (SHIPPED / "en").glob("*.md"))


def shipped(language):
    return [read_lesson(SHIPPED / language / f"{name}.md") for name in NAMES]


def text_of(page):
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", page.split("<body>")[1]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_students_get_every_question_and_no_answer(language):
    words, lessons = Words(language), shipped(language)
    page = worksheet(words, lessons)
    text = text_of(page)
    assert page.count("<section>") == len(lessons)
    assert page.count('class="line"') == 2 * len(lessons)
    assert text.count(words("worksheet.guess")) == sum(lesson.predict is not None for lesson in lessons)
    assert text.count(f"{words('train.nav')} · ") == sum(lesson.page == "train" for lesson in lessons)
    for lesson in lessons:
        assert lesson.title in text.replace("&quot;", '"')
        assert f"{lesson.model}" in text
        first_words = re.sub(r"[*`]", "", lesson.reveal)[:30]
        assert first_words not in text
    assert words("worksheet.name") in text
    assert words("worksheet.notes") not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_teachers_get_answers_notes_and_sources(language):
    words, lessons = Words(language), shipped(language)
    page = worksheet(words, lessons, for_teacher=True)
    text = text_of(page).replace("&quot;", '"')
    assert 'class="line"' not in page.split("<body>")[1]
    assert words("worksheet.guess") not in text
    assert str(sum(lesson.minutes for lesson in lessons)) in text
    for lesson in lessons:
        assert re.sub(r"[*`]", "", lesson.reveal)[:20] in text
        assert re.sub(r"[*`]", "", lesson.notes)[:20] in text
        assert lesson.source in text


def test_the_page_says_its_language():
    assert '<html lang="en">' in worksheet(Words("en"), shipped("en"))
    assert '<html lang="zh-CN">' in worksheet(Words("zh"), shipped("zh"))


def test_what_a_lesson_contains_is_shown_and_not_obeyed():
    [lesson, *_] = shipped("en")
    evil = "<script>alert(1)</script>"
    fields = dict.fromkeys(("title", "question", "source", "text", "see", "do", "reveal", "notes"), evil)
    page = worksheet(Words("en"), [type(lesson)(**vars(lesson) | fields)], for_teacher=True)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == len(fields)


def test_markdown_is_set_as_such():
    page = worksheet(Words("en"), shipped("en"), for_teacher=True)
    assert "<em>not</em>" in page
    assert "**" not in text_of(page)
