import pytest

from transformer_viz.text.scripts import main_script


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        (["A film.", "Un été"], "LATIN"),
        (["我看了《Titanic》这部电影"], "CJK"),
        (["映画を見ました", "テレビ"], "CJK"),
        (["저는 영화를 봤어요"], "HANGUL"),
        (["Я видел фильм Titanic"], "CYRILLIC"),
        (["ผมดูหนัง"], "THAI"),
        (["3 + 4 = 7", "", "…"], ""),
        ([None, ["a list"]], ""),
        ([], ""),
    ],
)
def test_the_script_of_most_words(texts, script):
    assert main_script(texts) == script


def test_a_character_of_a_script_without_spaces_counts_as_a_word():
    assert main_script(["好极了 internationalization"]) == "CJK"


def test_of_a_long_text_the_beginning_is_examined():
    assert main_script(["word " * 100 + "字" * 1000]) == "LATIN"
