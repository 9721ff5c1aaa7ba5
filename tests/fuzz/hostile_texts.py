"""Texts and addresses that break pages, drawn from a seed, through every page and every export."""

import argparse
import io
import random
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import pandas as pd  # noqa: E402
from pages import open_page  # noqa: E402

from transformer_viz.language import Words  # noqa: E402
from transformer_viz.pictures.lens import payload_of  # noqa: E402
from transformer_viz.pictures.views import page  # noqa: E402
from transformer_viz.text.tokenizer import NoTokensError  # noqa: E402
from transformer_viz.trace.request import Request  # noqa: E402
from transformer_viz.trace.trace import Trace  # noqa: E402
from transformer_viz.ui.pages.attention import page as attention  # noqa: E402
from transformer_viz.ui.shell import answers  # noqa: E402

PIECES = [
    *("a", "good", "film", " ", "  ", "\n", "\t", ".", ",", "!", "1", "2", "好", "不", "été", "naïve", "ñ"),
    *('<img src=x onerror="window.__x=1">', "<script>window.__x=1</script>", "</script>", "<b>", "&lt;"),
    *("$x$", "$$\\frac{1}{2}$$", "`code`", "**bold**", "_under_", "[link](http://e.example)", "# h", "&#36;"),
    *("![](http://e.example)", "http://e.example", "www.e.example", "a@e.example", "javascript:alert(1)"),
    *(
        ":red[x]",
        ":material/home:",
        "{percent}",
        "{0}",
        "%s",
        "%(x)s",
        "${x}",
        "{{x}}",
        "\\",
        "\\u0000",
        "\\n",
    ),
    *("'", '"', "'; --", "=1+1", "@SUM", "\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029"),
    *("\ufeff", "\ufffe", "\ud800", "\udfff", "\u200b", "\u200d", "\u202e", "\u2066", "\u0301" * 40),
    *("\u0e33" * 9, "👩\u200d🚀", "🏴\U000e0067", "ﷺ", "﷽", "[PAD]", "[UNK]", "[START]", "[END]", "[MASK]"),
    *("▁", "##ing", "Ġ", "null", "NaN", "None", "true", "-1", "1e999"),
    *("x" * 300, "a " * 200, "好" * 200, "!" * 200),
]


KEYS = [
    "model",
    "text",
    "target",
    "lang",
    "kind",
    "layer",
    "head",
    "view",
    "looks",
    "effects",
    "show",
    "run",
    "task",
    "mask",
    "mask_view",
    "causal",
    "pads",
    "reach",
    "bits",
    "do",
    "swap",
    "seed",
    "picture",
    "rows",
    "measure",
    "teacher",
    "embed",
    "embed_options",
]
"""Query parameters that pages read, and some that none does."""

PAGES = ("", "masks", "positions", "train", "models", "teacher")

VALUES = [
    "0",
    "1",
    "-1",
    "2",
    "99999999999999999999",
    "1.5",
    "1e999",
    "nan",
    "٣",
    "none",
    "painted",
    "imdb-sentiment",
    "../models",
    "/etc/passwd",
    "encoder",
    "cross",
    "lines",
    "shuffle",
    "swap",
    "window:3",
    "one-hot",
    "padding",
    "reverse",
    "file",
    "imdb",
    "zh",
    "true",
    "1,1",
]
VALUES += ["", " ", "0" * 5000, "A" * 40_000]
"""Values that mean something somewhere, and numbers nobody counts to."""


def text_of(random) -> str:
    """Return a text of up to thirty pieces; sometimes of any characters at all."""
    if random.random() < 0.1:
        return "".join(chr(random.randrange(random.choice((0x80, 0x3000, 0x110000)))) for _ in range(30))
    pieces = random.choices(PIECES, k=random.randint(1, 30))
    return random.choice(("", " ")).join(pieces)


def check_pages(text, model, language) -> None:
    """Open every page that reads a text; nothing may be raised. A browser sends no lone surrogates."""
    text = text.encode("utf-8", "replace").decode()
    for name in ("", "masks", "positions"):
        open_page(name, model=model, text=text, lang=language)


def check_addresses(chance, language) -> None:
    """Open every page with an address nobody would write; nothing may be raised."""
    for name in PAGES:
        keys = chance.sample(KEYS, chance.randint(1, 6))
        address = {key: chance.choice((*VALUES, text_of(chance))) for key in keys}
        address = {key: value.encode("utf-8", "replace").decode() for key, value in address.items()}
        try:
            open_page(name, **{"lang": language} | address)
        except Exception as error:
            error.add_note(f"page {name!r} with {address!r}")
            raise


def check_exports(text, model) -> None:
    """Write every export of the text's attention, and read it again."""
    try:
        trace = answers.cached_answer(Request.of(model, text), None, None)
    except NoTokensError:
        return
    frame = trace.to_frame()
    csv = frame.to_csv(index=False)
    as_written = {"keep_default_na": False, "na_values": {"score": [""]}}
    read = pd.read_csv(io.StringIO(csv, newline=""), dtype=frame.dtypes.to_dict(), **as_written)
    pd.testing.assert_frame_equal(read, frame, check_exact=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.npz"
        path.write_bytes(attention.npz_of(trace))
        assert Trace.load(path) == trace
    payload = payload_of(trace, Words("zh"))
    html = page(payload, title=f"{model}: {trace.text}")
    plain = page(payload, title="plain").lower()
    for tag in ("<script", "</script", "<img", "<b>"):
        assert html.lower().count(tag) == plain.count(tag)
    html.encode()


def main() -> int:
    """Try as many texts as are asked for, with the models on the shelf."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, failed = random.Random(options.seed), 0
    models = ("imdb-sentiment", "reviews-zh", "translate-en-fr", "induction", "dates")
    for number in range(options.texts):
        text, model = text_of(chance), models[number % len(models)]
        try:
            check_pages(text, model, ("en", "zh")[number % 2])
            check_exports(text, model)
            check_addresses(chance, ("en", "zh")[number % 2])
        except Exception as error:
            failed += 1
            notes = " ".join(getattr(error, "__notes__", ()))
            print(f"{model} {text!r}: {type(error).__name__}: {error} {notes}"[-600:], flush=True)
    print(
        f"{options.texts} texts through 3 pages and 3 exports, and an address of each of {len(PAGES)} pages "
        f"with each text, {len(PAGES) * options.texts} addresses in all: {failed} failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
