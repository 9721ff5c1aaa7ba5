"""Pictures of attention that Matplotlib draws: their size, their cells, and the letters of tokens."""

import io
import re
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

import transformer_viz as tv
from transformer_viz.language import sentence_of

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.image import imread  # noqa: E402

from transformer_viz.pictures import fonts, static  # noqa: E402
from transformer_viz.pictures.theme import DIVERGING, GAP, SEQUENTIAL  # noqa: E402

TOKENS = ["the", "film", "was", "not", "good"]
RANDOM = np.random.default_rng(3)
HIEROGLYPH = "𓀀"
CHINESE = "Noto Sans CJK SC"


def weights(count=5, *, causal=True):
    found = RANDOM.random((2, 3, count, count)) * (np.tri(count) if causal else 1)
    return found / found.sum(axis=-1, keepdims=True)


def drawn(page, form="png", **options):
    """Return a picture as a file, whose name and options are those of `Page.save`."""
    file = io.BytesIO()
    static.save(file, form, page._opened, static.Style(**options), dpi=100)
    return file.getvalue()


@pytest.mark.parametrize(("suffix", "begin"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_suffix_decides_what_is_saved(tmp_path, suffix, begin):
    page = tv.show(weights(), TOKENS)
    for name in (f"figure.{suffix}", f"FIGURE.{suffix.upper()}"):
        page.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begin)


def test_a_page_is_saved_as_before(tmp_path):
    page = tv.show(weights(), TOKENS)
    for name in ("page.html", "page.htm", "page"):
        page.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == page.html


@pytest.mark.parametrize("view", ["all", "matrix", "grid", "lines"])
@pytest.mark.parametrize("width", [8.5, 17.0])
def test_a_picture_has_its_width_in_centimetres(view, width):
    page = tv.show(weights(), TOKENS, view=view)
    svg = ElementTree.fromstring(drawn(page, "svg", width=width))
    assert float(svg.get("width").removesuffix("pt")) / 72 * 2.54 == pytest.approx(width, abs=0.01)
    box = re.search(rb"/MediaBox \[([^\]]*)\]", drawn(page, "pdf", width=width))[1]
    assert float(box.split()[2]) / 72 * 2.54 == pytest.approx(width, abs=0.01)
    assert imread(io.BytesIO(drawn(page, width=width))).shape[1] == pytest.approx(width / 2.54 * 100, abs=1)


def test_letters_have_their_size():
    page = tv.show(weights(), TOKENS)
    pdf = drawn(page, "pdf", font_size=6.5)
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    texts = b"".join(zlib.decompress(each) for each in streams if each[:1] == b"x")
    sizes = {float(size) for size in re.findall(rb"/F\d+ ([\d.]+) Tf", texts)}
    assert 6.5 in sizes
    assert sizes <= {6.5, 7.15}  # the title is larger


def test_cells_have_the_colours_of_their_weights_and_masked_ones_none():
    given = np.array([[[1.0, 0, 0, 0], [0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 1]]])
    page = tv.show(given, ["a", "b", "c", "d"], view="matrix")
    image = np.round(255 * imread(io.BytesIO(drawn(page, title=False)))[..., :3]).astype(int)
    found = {tuple(map(int, colour)) for colour in image.reshape(-1, 3)}
    ends = [SEQUENTIAL["light"][place][1] for place in (0, 2, 4)]
    for colour in (*ends, GAP["light"]):
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        close = [abs(r - red) + abs(g - green) + abs(b - blue) <= 3 for r, g, b in found]
        assert any(close), colour


def test_numbers_are_coloured_by_their_sign():
    page = tv.show(np.array([[2.0, -2.0], [0.0, 2.0]]), ["a", "b"], signed=True, view="matrix")
    svg = drawn(page, "svg").decode()
    low, high = (DIVERGING["light"][place][1] for place in (0, -1))
    assert svg.count(f"fill: {high}") == 2
    assert svg.count(f"fill: {low}") == 1


def test_a_comparison_is_three_matrices():
    from made_traces import encoder_trace

    a, b = encoder_trace(["a", "film"]), encoder_trace(["a", "good", "film"])
    one, three = (tv.show(shown, view="matrix") for shown in (b, tv.compare(a, b)))
    count = [drawn(page, "svg", title=False).count(b'id="QuadMesh_') for page in (one, three)]
    assert count == [1, 3]


def test_each_head_is_a_thumbnail():
    page = tv.show([weights()[0], weights()[0, :2]], TOKENS, view="grid")
    assert drawn(page, "svg").count(b"<image ") == 5


def test_step_by_step_is_no_picture(tmp_path):
    with pytest.raises(ValueError, match=r"^Step by step cannot be drawn as a picture"):
        tv.show(weights(), TOKENS, view="steps").save(tmp_path / "a.png")


def test_what_cannot_be_saved_is_refused(tmp_path):
    page = tv.show(weights(), TOKENS)
    with pytest.raises(ValueError, match=r"^A page cannot be saved as \.jpg\. Choose \.html, or"):
        page.save(tmp_path / "a.jpg")
    with pytest.raises(ValueError, match=r"^`font_size` belongs to a picture"):
        page.save(tmp_path / "a.html", font_size=8)
    with pytest.raises(ValueError, match=r"^`dpi` belongs to a picture"):
        page.save(tmp_path / "a.html", dpi=300)


def test_a_dollar_is_no_formula():
    page = tv.show(weights(), ["$x$", "$", "$$", r"\frac", "^_{}"])
    assert drawn(page)


def test_a_script_without_a_font_is_named_with_a_font_that_has_it(tmp_path, monkeypatch):
    latin = fonts._installed()[fonts.LATIN]
    monkeypatch.setattr(fonts, "_installed", lambda: {fonts.LATIN: latin})
    page = tv.show(weights(), [*TOKENS[:4], HIEROGLYPH])
    with pytest.raises(ValueError, match=r"\(Egyptian\)\. Install one that has them, such as Noto Sans Egyp"):
        page.save(tmp_path / "a.pdf")


def test_a_script_is_named_in_the_readers_language(monkeypatch):
    monkeypatch.setattr(fonts, "_letters_of", lambda name: frozenset("abc"))
    for text, english, chinese, font in (
        ("电影", "Chinese", "中文", "Noto Sans CJK SC"),
        ("مرحبا", "Arabic", "阿拉伯文", "Noto Sans Arabic"),
        ("🎬", "emoji", "表情符号", "Noto Emoji"),
        ("ひ", "Japanese", "日文", "Noto Sans CJK JP"),
    ):
        with pytest.raises(ValueError, match=re.escape(f"“{text}” ({english})")) as caught:
            fonts.fonts_of([text])
        assert f"（{chinese}）" in sentence_of(caught.value, "zh")
        assert font in str(caught.value)


def test_a_wanted_font_comes_first_and_others_have_what_it_lacks(monkeypatch):
    monkeypatch.setattr(
        fonts, "_installed", lambda: dict.fromkeys(["DejaVu Sans", "Mine", "Noto Sans CJK SC"])
    )
    letters = {"Mine": "fi", "DejaVu Sans": "film", "Noto Sans CJK SC": "film电影"}
    monkeypatch.setattr(fonts, "_letters_of", lambda name: frozenset(letters[name]))
    assert fonts.fonts_of(["film"]) == ["DejaVu Sans"]
    assert fonts.fonts_of(["film", "电影"], "Mine") == ["Mine", "DejaVu Sans", "Noto Sans CJK SC"]
    with pytest.raises(ValueError, match=r"^The font Times is not installed"):
        fonts.fonts_of(["film"], ["Mine", "Times"])


def test_what_comes_with_matplotlib_has_latin_arabic_and_a_smile():
    assert fonts.fonts_of(["café", "مرحبا", "می\u200cخواهم", "😀", "❤\ufe0f", "a b"]) == ["DejaVu Sans"]


def test_a_pdf_has_chinese_letters_and_truetype_fonts_where_it_can():
    """PDF takes no font with other outlines as it is: viewers show nothing for its letters."""
    assert b"/Type3" not in drawn(tv.show(weights(), TOKENS), "pdf")
    if CHINESE not in fonts._installed():
        pytest.skip(f"{CHINESE}, whose outlines are not TrueType, is not installed")
    chinese = tv.show(weights(), list("电影不好。"))
    assert b"/Type3" in drawn(chinese, "pdf", font=CHINESE)


def test_letters_of_arabic_are_joined():
    alone = sum(static._width(letter, 10) for letter in "مرحبا")
    assert static._width("مرحبا", 10) < 0.9 * alone


def test_where_tokens_have_no_room_words_have_labels():
    words = [(0, 2, "酒店"), (2, 4, "服务")]
    assert static._labelled("酒店服务好", words, 1.0) == list(
        zip(np.arange(5) + 0.5, "酒店服务好", strict=True)
    )
    assert static._labelled("酒店服务好", words, 1.4) == [(1.0, "酒店"), (3.0, "服务"), (4.5, "好")]
    assert static._labelled("酒店服务好", words, 2.5) == [(1.0, "酒店"), (4.5, "好")]


def test_control_characters_are_drawn_as_signs():
    page = tv.show(weights(), ["a", "\n", "\t", "\x00", "␣"])
    assert drawn(page)
    assert [static._drawable(token) for token in ("␊", "␉", "␀")] == ["↵", "⇥", "⟨U+0000⟩"]
