"""What the workbench says about a run beside its pictures, ready for JSON: sentences, bars and buttons.

In a sentence, ** stands around what is set in bold, and nowhere else.
"""

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from transformer_viz import store
from transformer_viz.explorer.no_answer import why_no_answer
from transformer_viz.language import Phrase, Words, sentence_of
from transformer_viz.network.config import NO_ID, TransformerConfig
from transformer_viz.pictures.labels import answer_text, label_of, written_text
from transformer_viz.text.gaps import ChangedText
from transformer_viz.text.scripts import CJK, main_script
from transformer_viz.text.segmentation import chinese_words
from transformer_viz.text.special import MASKS, SPACE, SPECIAL, UNK, UNKNOWN, is_special
from transformer_viz.text.unicode import visible
from transformer_viz.trace.comparison import Comparison
from transformer_viz.trace.reshape import word_of_token
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell import card_facts
from transformer_viz.ui.shell.card_facts import config_of, count_in, examples_of, limits_in
from transformer_viz.ui.shell.language import sendable
from transformer_viz.ui.shell.problems import without_folders
from transformer_viz.ui.workbench.asked import tokenizer_in

Item = dict[str, Any]
"""A sentence ("said"), a bar ("bar": its share, "text") or a button ("press": its text, "act")."""

MAX_BARS = 3
"""Maximum number of labels with a probability bar."""

UNDECIDED = 0.1
"""With a smaller difference in probability of the two likeliest labels, neither is said to be predicted."""

MAX_OFFERED = 4
"""Number of tokens offered as buttons."""

MAX_GAPS = 8
"""Maximum number of [MASK] with predictions."""

MAX_WORDS = 60
"""Maximum number of reordered tokens shown as text."""

MAX_UNKNOWN = 8
"""Maximum number of unknown words that are named."""

NOT_TYPED = SPECIAL | {SPACE}
"""Tokens that a press cannot put into a text."""

STANDS_IN = {*UNKNOWN, *MASKS}
"""Special tokens in whose place a word was."""

SCRIPTS = {CJK: "script.cjk", "LATIN": "script.latin"}
"""Script -> key of its name; others have none."""


def plain(text: str) -> str:
    """Return what is not ours without control characters, and without what would set it in bold."""
    return sendable(text).replace("**", "*\u2060*")


def answer_of(words: Words, model: store.ModelSummary, trace: Trace, *, own: bool) -> list[Item]:
    """Return what a model answers.

    Args:
        words: Sentences of the visitor's language.
        model: The model.
        trace: Its run.
        own: Whether it was to write the target itself.
    """
    config = config_of(model)
    if not trace.labels:
        reason = "" if config.has_decoder else sentence_of(why_no_answer(model.card), words.language)
        return [{"said": plain(reason), "small": True}] if reason else []
    if config.fills_in:
        return []
    if config.architecture == "encoder":
        return _classes(words, model, trace)
    if own and trace.encoder:
        tip = words("writing.share")
        written = {"said": words("writing.sentence", text=plain(written_text(trace)))}
        return [written, {"said": f"{share_of_written(trace):.1%}", "small": True, "tip": tip}]
    if trace.encoder or trace.num_dropped:
        probs = trace.answer_probs
        best = int(probs.argmax())
        token, percent = plain(label_of(trace, best)), f"{probs[best]:.1%}"
        return [
            {"said": words("writing.next", token=token, percent=percent)},
            *_bars(trace, probs, _likeliest(probs)),
        ]
    help_text = words("writing.append")
    offered = _offered(trace, trace.answer_probs, lambda token: {"do": "append", "token": token}, help_text)
    return [{"said": words("writing.offer")}, *offered]


def share_of_written(trace: Trace) -> float:
    """Return the probability with which an encoder-decoder writes its text: the product over its tokens."""
    rows = np.flatnonzero(trace.is_real)
    return float(np.exp(np.log(trace.probs.max(axis=-1)[rows]).sum()))


def _classes(words, model, trace):
    """Return the prediction, with the probabilities of the likeliest labels."""
    key = "prediction.undecided" if is_undecided(trace.probs) else "prediction.sentence"
    said = words(key, label=plain(trace.labels[int(trace.probs.argmax())]))
    likeliest = sorted(_likeliest(trace.probs))  # in the order of the labels, whatever the text
    return [
        {"said": said, "tip": limits_in(model.card, words.language)},
        *_bars(trace, trace.probs, likeliest),
    ]


def is_undecided(probs: np.ndarray) -> bool:
    """Return whether the likeliest two labels are about as likely: float (label,)."""
    likeliest = np.sort(probs)[-2:]
    return len(likeliest) == 2 and likeliest[1] - likeliest[0] < UNDECIDED


def _likeliest(probs):
    """Return the numbers of the likeliest labels that have a bar, the likeliest first."""
    return np.argsort(-probs)[:MAX_BARS].tolist()


def _bars(trace, probs, numbers):
    """Return a bar for each of some labels."""
    return [
        {"bar": float(probs[i]), "text": f"{plain(label_of(trace, i))} · {probs[i]:.1%}"} for i in numbers
    ]


def _offered(trace, probs, act: Callable[[str], Item], tip: str) -> list[Item]:
    """Return a button for each of the likeliest tokens; special tokens cannot be pressed."""
    return [
        {
            "press": f"{plain(label_of(trace, i))} · {probs[i]:.1%}",
            "act": act(trace.labels[i]),
            "off": trace.labels[i] in NOT_TYPED,
            "tip": tip,
        }
        for i in np.argsort(-probs)[:MAX_OFFERED].tolist()
    ]


def gaps_of(words: Words, model: store.ModelSummary, trace: Trace, changed: ChangedText) -> list[list[Item]]:
    """Return what a masked language model fills in, a line for each [MASK]; none of other models."""
    config = config_of(model)
    if not config.fills_in:
        return []
    tokenizer = tokenizer_in(model)
    lines = [_gap(words, config, tokenizer, trace, changed, place) for place in trace.gaps[:MAX_GAPS]]
    if len(trace.gaps) > MAX_GAPS:
        facts = {"shown": MAX_GAPS, "count": len(trace.gaps), "mask": plain(tokenizer.mask)}
        lines.append([{"said": words("filling.first", **facts), "small": True}])
    if not lines:
        lines.append([{"said": words("filling.label", mask=plain(tokenizer.mask)), "small": True}])
    return lines


def _gap(words, config, tokenizer, trace, changed, place):
    """Return the likeliest tokens at a [MASK] as buttons that fill it in, and one for the original."""
    probs, (begin, end), mask = trace.probs[place], trace.offsets[place], tokenizer.mask
    numbers = word_of_token(trace.text, trace.offsets, chinese_words(trace.text))
    first, last = np.flatnonzero(abs(numbers - numbers[place]) <= 1)[[0, -1]]
    before, after = trace.text[trace.offsets[first][0] : begin], trace.text[end : trace.offsets[last][1]]
    around = plain(visible(before) + mask + visible(after))
    fill = words("filling.fill", mask=plain(mask))
    line = [{"said": f"“{around}”"}]
    line += _offered(trace, probs, lambda token: {"do": "fill", "begin": begin, "token": token}, fill)
    change = changed.change_at(begin, end)
    if change is None:
        return line
    word = plain(visible(change.original.strip()))
    original = _token_at(config, tokenizer, trace, changed.restored(change).text, place)
    text = word if original is None else f"{word} · {probs[original]:.1%}"
    back = {"do": "restore", "begin": begin, "end": end}
    return [*line, {"press": f"↶ {text}", "act": back, "tip": words("filling.restore", word=word)}]


def _token_at(config: TransformerConfig, tokenizer, trace, text, place):
    """Return the id of the token in place of a [MASK] in another text; None: unknown, or several."""
    ids = tokenizer.read(text).ids
    is_one = len(ids) == len(trace.token_ids) and [*np.flatnonzero(ids != trace.token_ids)] == [place]
    return ids[place] if is_one and ids[place] != config.unk_id else None


def change_of(words: Words, comparison: Comparison, *, own: bool) -> tuple[list[Item], list[Item]]:
    """Return A's answer, and what became of it in B; `own` as for `answer_of`, of both."""
    a, b = comparison.a, comparison.b
    if all(each.encoder and each.decoder and each.labels for each in (a, b)):
        before, after = _underlined(written_text(a), written_text(b))
        same = own and written_text(a) == written_text(b)
        return [{"parts": before}], [{"parts": after}, *([_small(words("compare.same"))] if same else [])]
    found = comparison.answer()
    if found is None:
        before, after = (_own_answer(each) for each in (a, b))
        return before, after
    label = f"**{plain(label_of(a, found.label))}**"
    points, odds = _signed(100 * (found.after - found.before), 1), _signed(found.log_odds, 2)
    change = words("compare.change", points=points)
    way = "" if points == "0.0" else "lost" if found.after < found.before else "gained"
    after = [
        {"said": f"{label} {found.after:.1%}"},
        {"said": f"**{change}**", "way": way},
        _small(words("compare.log_odds", change=odds)),
    ]
    number, share = found.likeliest
    if number != found.label:
        other = f"**{plain(label_of(b, number))}**"
        after.append({"said": words("compare.now", label=other, share=f"{share:.1%}")})
    return [{"said": f"{label} {found.before:.1%}"}], after


def answers_of(trace: Trace, former: Trace | None) -> dict[str, str] | None:
    """Return the answer of a run, and of the one that it is compared with, as a saved picture says them."""
    sides = {"b": trace} if former is None else {"b": trace, "a": former}
    if not all(each.labels for each in sides.values()):
        return None
    return {name: _own_answer(each)[0]["said"].replace("**", "") for name, each in sides.items()}


def _own_answer(trace):
    """Return the answer of one run; nothing of a model without labels."""
    if not trace.labels:
        return []
    share = "" if trace.encoder and trace.decoder else f" {trace.answer_probs.max():.1%}"
    return [{"said": f"**{plain(answer_text(trace))}**{share}"}]


def _underlined(before, after):
    """Return two texts as parts: text and whether the other lacks it."""
    ours, theirs = (text.split() if " " in text else list(text) for text in (before, after))
    joint = " " if " " in before + after else ""
    parts: tuple[list, list] = ([], [])
    for name, *places in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        for part, words, (first, last) in zip(parts, (ours, theirs), (places[:2], places[2:]), strict=True):
            if first < last:
                part.append([sendable(joint.join(words[first:last])) + joint, name != "equal"])
    return parts


def _signed(number, digits):
    """Return a number with its sign; one that rounds to 0 has none."""
    text = f"{abs(number):.{digits}f}"
    return text if float(text) == 0 else f"{'−' if number < 0 else '+'}{text}"


def _small(said):
    return {"said": said, "small": True}


def reader_of(
    model: store.ModelSummary, text: str, models: Callable[[], Iterable[store.ModelSummary]]
) -> str:
    """Return the name of a model that reads a text whose script is foreign to another of its kind; "": none.

    Args:
        model: The other one.
        text: The text.
        models: Returns the usable models that the visitor sees.
    """
    script = main_script([text])
    if not is_foreign(script, model):
        return ""
    alike = (each for each in models() if each.config and _kind_of(each) == _kind_of(model))
    able = [each for each in alike if _script_of(each) == script]
    return max(able, key=lambda each: each.size).name if able else ""


def notes_of(words: Words, model: store.ModelSummary, trace: Trace, reader: str) -> list[Item]:
    """Return how a text was truncated, which words are unknown to the model, and whether it is in a script
    that the model has not learned from.

    Args:
        words: Sentences of the visitor's language.
        model: The model.
        trace: What it has read.
        reader: As `reader_of` returns it.
    """
    notes: list[Item] = []
    script = main_script([trace.text])
    if is_foreign(script, model):
        notes += _foreign(words, script, model, reader)
    if trace.num_dropped and trace.cut_at is not None:
        notes.append(_cut(words, trace))
        if longest := count_in(model.card, "longest"):
            most = f"{config_of(model).max_len:,}"
            notes.append(_small(words("reading.limit", most=most, longest=longest)))
    if trace.unknown.all():
        return [*notes, _small(words("reading.all_unknown"))]
    unknown = list(dict.fromkeys(plain(visible(trace.words[i])) for i in np.flatnonzero(trace.unknown)))
    if unknown:
        shown = words("list.comma").join(f"“{word}”" for word in unknown[:MAX_UNKNOWN])
        shown += " …" if len(unknown) > MAX_UNKNOWN else ""
        counts = {"count": int(trace.unknown.sum()), "total": len(trace.tokens)}
        notes.append(_small(words("reading.unknown", words=shown, **counts)))
    return notes


def _cut(words, trace):
    key = {0: "beginning", len(trace.tokens): "end"}.get(trace.cut_at, "middle")
    facts = {"total": len(trace.tokens) + trace.num_dropped, "head": trace.cut_at}
    facts |= {"tail": len(trace.tokens) - trace.cut_at, "read": len(trace.tokens)}
    return _small(words(f"reading.cut_{key}", **facts))


def is_foreign(script: str, model: store.ModelSummary) -> bool:
    """Return whether a model was trained on texts in another script than this one of `main_script`."""
    own = main_script(examples_of(model.card)) if card_facts.part(model.card, "data") else ""
    return bool(own and script and own != script)


def _foreign(words, script, model, reader):
    """Yield that a model does not read a script, and a button that opens one of its kind that does."""
    own, other = (words(SCRIPTS.get(name, "script.other")) for name in (_script_of(model), script))
    yield {"said": words("reading.foreign", model=plain(model.name), own=own, other=other), "warns": True}
    if reader:
        yield {"press": words("positions.open", model=plain(reader)), "open": reader}


def _script_of(model):
    return main_script(examples_of(model.card))


def _kind_of(model):
    config = config_of(model)
    return bool(config.labels), config.has_encoder, config.fills_in, config.has_decoder


def order_of(words: Words, trace: Trace) -> Item:
    """Return the words of a reordered text as the model read them."""
    read = [plain(visible(word)) for word in trace.words if word]
    more = " …" if len(read) > MAX_WORDS else ""
    return _small(words("reading.order", text=" ".join(read[:MAX_WORDS]) + more))


def words_read(trace: Trace) -> list[dict[str, Any]]:
    """Return the words of a text that can be taken away: where each is in it, and its tokens as typed.

    A token that stands for a word that was left out, and a [MASK] that was typed, is one, too.
    """
    order = sorted(range(len(trace.tokens)), key=lambda place: trace.offsets[place])
    offsets = [trace.offsets[place] for place in order]
    numbers, found = word_of_token(trace.text, offsets, chinese_words(trace.text)), []
    for number in range(numbers.max(initial=-1) + 1):
        typed = np.flatnonzero(numbers == number).tolist()
        start, end = offsets[typed[0]][0], offsets[typed[-1]][1]
        tokens = {trace.tokens[order[place]] for place in typed}
        if start < end and not any(is_special(token) and token not in STANDS_IN for token in tokens):
            is_gap = any(order[place] in trace.gaps for place in typed)
            found.append({"start": start, "end": end, "tokens": typed, "gap": is_gap})
    return found


def stand_in_of(model: store.ModelSummary) -> str:
    """Return the name of the token that stands for a word that is hidden; "": the vocabulary has none."""
    tokenizer, config = tokenizer_in(model), config_of(model)
    if tokenizer.has_mask:
        return tokenizer.mask
    return "" if config.unk_id == NO_ID or config.fills_in else UNK


def problem_of(words: Words, error: Exception | Phrase, own: Path | None) -> str:
    """Return an error about a run as a sentence without paths; `own` as for `without_folders`."""
    return plain(without_folders(sentence_of(error, words.language), own))
