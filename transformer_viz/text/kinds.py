"""The kinds of tokenization, each trained by the `tokenizers` library."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from transformer_viz.language import Problem
from transformer_viz.text.shown import CONTINUATION, UNSPACED
from transformer_viz.text.special import MASKS, SPACE, UNK

TOKEN_KINDS = ("words", "characters", "bpe", "wordpiece")
"""Kinds of tokens; see `Tokenizer.train`."""

JOINERS = r"\x{200C}\x{200D}"
"""A zero-width non-joiner and joiner: within words of Persian, Hindi and others they shape the letters."""

CHARACTER = rf"\S[\p{{M}}{JOINERS}]*"
"""A visible character with its combining marks and joiners."""

SIGN = r"[^\w\s]"
"""A punctuation mark or another sign."""

LETTER, NO_DIGIT = r"\w", r"[^\W\d]"
"""What words are made of: letters with their marks and digits, or no digits."""

_PICTURE = r"\p{Extended_Pictographic}[\p{M}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]*"

EMOJI = rf"[\x{{1F1E6}}-\x{{1F1FF}}]{{2}}|{_PICTURE}(?:\x{{200D}}{_PICTURE})*"
r"""A flag, or pictures with their modifiers that are joined to one (Unicode Technical Standard 51).

Not \X, which takes quadratic time for flags, and the space after an Arabic number sign.
"""

LINE_BREAK = r"(?i)<br\s*/?>"
"""HTML line breaks, as in the IMDB reviews; treated as white space."""

WHITE_SPACE = rf"[\s{SPACE}]+"
"""White space that BPE collapses to one space."""

SMALL_ALPHABET = 256
"""Characters always included in a subword vocabulary of sufficient size."""

MIN_FREQUENCY = 2
"""Least frequency of a pair of tokens that is merged."""

_MODELS = {
    "words": (lambda: models.WordLevel(unk_token=UNK), trainers.WordLevelTrainer),
    "characters": (lambda: models.WordLevel(unk_token=UNK), trainers.WordLevelTrainer),
    "bpe": (lambda: models.BPE(unk_token=UNK, fuse_unk=True), trainers.BpeTrainer),
    "wordpiece": (lambda: models.WordPiece(unk_token=UNK), trainers.WordPieceTrainer),
}
"""Kind -> the library's untrained model, and its trainer."""


def train_backend(
    texts: Iterable[str],
    vocab_size: int,
    *,
    kind: str,
    lowercase: bool,
    special: list[str],
    split_digits: bool,
) -> tokenizers.Tokenizer:
    """Train the library's tokenizer of one kind; arguments as for `Tokenizer.train`, with `texts` cleaned.

    `special` are the first tokens of the vocabulary. The same texts give the same tokenizer.

    Raises:
        ValueError: If there is no such kind, or `vocab_size` is too small for the special tokens.
    """
    if kind not in TOKEN_KINDS:
        raise Problem("tokenizer.kind", kinds=", ".join(TOKEN_KINDS), received=repr(kind))
    if vocab_size < len(special):
        needed = ", ".join(special)
        raise Problem("tokenizer.vocab_size", least=len(special), needed=needed, received=vocab_size)
    normalizer = _normalizer(kind, lowercase)
    splitter, decoder = _splitter(kind, split_digits), _decoder(kind)
    model, trainer = _MODELS[kind]
    options: dict[str, Any] = {"vocab_size": vocab_size, "special_tokens": special, "show_progress": False}
    if kind in ("bpe", "wordpiece"):
        texts = list(texts)
        alphabet = _alphabet(map(normalizer.normalize_str, texts), vocab_size - len(special), splitter, kind)
        # exactly these characters: the library chooses at random among equally frequent ones
        initial = [character for character in alphabet if len(character) == 1]
        options |= {"min_frequency": MIN_FREQUENCY, "initial_alphabet": initial}
        options |= {"limit_alphabet": len(initial)}
        if kind == "wordpiece":  # its alphabet is passed as special tokens, so that its ids are not random
            options |= {"special_tokens": [*special, *alphabet]}
    backend = tokenizers.Tokenizer(model())
    backend.normalizer, backend.pre_tokenizer = normalizer, splitter
    backend.train_from_iterator(texts, trainer(**options))
    if kind == "wordpiece":
        vocabulary = backend.get_vocab()
        backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=UNK))
        backend.normalizer, backend.pre_tokenizer = normalizer, splitter
        backend.add_special_tokens(special)
    if decoder is not None:
        backend.decoder = decoder
    return backend


def kind_of(backend: tokenizers.Tokenizer) -> str:
    """Return the `TOKEN_KINDS` entry of a tokenizer; other tokenizers count as words."""
    if isinstance(backend.model, models.BPE):
        return "bpe"
    if isinstance(backend.model, models.WordPiece):
        return "wordpiece"
    return "characters" if isinstance(backend.decoder, decoders.Fuse) else "words"


def pieces(kind: str, tokens: Sequence[str]) -> list[tuple[str, str]]:
    """Return what each token adds to the text: (space or nothing, its characters)."""
    if kind == "bpe":
        found = [(" " * (t.startswith(SPACE) or t in MASKS), t.removeprefix(SPACE)) for t in tokens]
    elif kind == "wordpiece":
        unspaced = [UNSPACED.match(token) is not None for token in tokens]
        beside = [here or before for here, before in zip(unspaced, [True, *unspaced], strict=False)]
        found = [
            ("", token[2:])
            if token.startswith(CONTINUATION) and len(token) > 2
            else (" " * (not tight), token)
            for token, tight in zip(tokens, beside, strict=True)
        ]
    else:
        found = [(" " if kind == "words" else "", token) for token in tokens]
    return [("", found[0][1]), *found[1:]] if found else []


def _normalizer(kind, lowercase):
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(LINE_BREAK), " "),
        normalizers.Replace("’", "'"),
    ]
    if kind in ("bpe", "wordpiece"):  # its lower case has two characters, which could be split
        steps.append(normalizers.Replace("İ", "I"))
    if lowercase:
        steps.append(normalizers.Lowercase())
    if kind == "bpe":  # one space for all white space, as `decode` restores it
        steps += [normalizers.Replace(Regex(WHITE_SPACE), " "), normalizers.Strip()]
    return normalizers.Sequence(steps)


def _word(letter):
    """Return the pattern of a word, with the apostrophes and joiners inside it."""
    return rf"{letter}+(?:'{letter}+|[{JOINERS}]{letter}*)*"


def _word_without_joiners(letter):
    return rf"{letter}+(?:'{letter}+)*"


def _pattern(kind, split_digits, word=_word):
    """Return the regular expression that splits a text into pre-tokens."""
    if kind == "characters":
        return rf"{EMOJI}|{CHARACTER}"
    letter, digit = (NO_DIGIT, r"\d|") if split_digits else (LETTER, "")
    if kind == "words":
        return rf"{digit}{word(letter)}|{EMOJI}|{SIGN}"
    if kind == "wordpiece":  # as in BERT, each Chinese character is a word
        other = rf"[{letter}&&[^\p{{Han}}]]"
        return rf"\p{{Han}}|{digit}{word(other)}|{SIGN}"
    return rf"{SPACE}?(?:{digit}{word(letter)}|{SIGN.replace(chr(92) + 's', SPACE)})|{SPACE}"


FORMER_PATTERNS = {
    r"\S\p{M}*",
    rf"{EMOJI}|\S\p{{M}}*",
    *(
        rf"{digit}{_word_without_joiners(letter)}|{SIGN}"
        for letter, digit in ((LETTER, ""), (NO_DIGIT, r"\d|"))
    ),
    *(
        _pattern(kind, digits, _word_without_joiners)
        for kind in ("words", "bpe", "wordpiece")
        for digits in (False, True)
    ),
}
"""Those of older tokenizers, for which each part of an emoji, or each joiner, is a token."""

PATTERNS = {
    LINE_BREAK,
    WHITE_SPACE,
    *FORMER_PATTERNS,
    *(_pattern(kind, digits) for kind in TOKEN_KINDS for digits in (False, True)),
}
"""Every regular expression in tokenizers trained here, now or formerly."""


def _splitter(kind, split_digits):
    pattern = Regex(_pattern(kind, split_digits))
    if kind == "bpe":
        marked = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always", split=False)
        return pre_tokenizers.Sequence([marked, pre_tokenizers.Split(pattern, "isolated")])
    return pre_tokenizers.Split(pattern, "removed", invert=True)


def _decoder(kind):
    """Return the library's decoder; None: it joins tokens by spaces."""
    return {
        "words": None,
        "characters": decoders.Fuse(),
        "bpe": decoders.Metaspace(replacement=SPACE, prepend_scheme="always"),
        "wordpiece": decoders.WordPiece(prefix=CONTINUATION, cleanup=False),
    }[kind]


def _alphabet(texts, room, splitter, kind):
    """Return the base tokens of a subword vocabulary, the most frequent characters first.

    They take at most half of the vocabulary, which leaves room for words in Chinese with its thousands of
    characters; rarer characters are unknown.
    """
    counts = Counter()
    for text in texts:
        counts.update(text)
    ranked = sorted(counts.keys() - set(f" {SPACE}"), key=lambda c: (-counts[c], c))
    ranked = [character for character in ranked if kind == "bpe" or not character.isspace()]
    most, alphabet = min(room, max(room // 2, SMALL_ALPHABET)), [SPACE] if kind == "bpe" else []
    for character in ranked:
        forms = [character]
        # only characters that occur within words get a continuation form
        if kind == "wordpiece" and len(splitter.pre_tokenize_str(f"a{character}a")) == 1:
            forms.append(CONTINUATION + character)
        if len(alphabet) + len(forms) > most:
            break
        alphabet += forms
    return alphabet[:room]
