"""A parser whose usage, help and errors are in the reader's language, with lines as wide as they look."""

import argparse
import functools
import re
from typing import Any, NoReturn

from transformer_viz.cli.language import words
from transformer_viz.cli.width import width, wrapped
from transformer_viz.language import Words


class Parser(argparse.ArgumentParser):
    """A parser in the language that is spoken when it is made.

    Args:
        **settings: As for `argparse.ArgumentParser`. Lines of the texts that begin with a space are commands,
            and not wrapped.
    """

    def __init__(self, **settings: Any):
        self.words = words()
        formatter = functools.partial(Formatter, self.words)
        super().__init__(formatter_class=formatter, add_help=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong, and exit with status 2."""
        said = self.words("cli.error", message=translated(message, self.words))
        self.exit(2, f"{self.format_usage()}{self.prog}: {said}\n")


class Formatter(argparse.HelpFormatter):
    """Usage and help in one language.

    Args:
        words: Its sentences.
        prog: The program.
    """

    def __init__(self, words: Words, prog: str):
        super().__init__(prog)
        self._words = words

    def start_section(self, heading: str | None) -> None:
        """Begin a section under the translated heading."""
        super().start_section(heading and translated(heading, self._words))

    def format_help(self) -> str:
        """Return the help; a heading in Chinese ends with a colon of its own."""
        return re.sub(r"(?<=[\u4e00-\u9fff]):$", "：", super().format_help(), flags=re.MULTILINE)

    def _format_usage(self, usage, actions, groups, prefix):
        """Return the usage behind a translated prefix, its further lines indented by how wide that looks."""
        prefix = self._words("cli.usage") if prefix is None else prefix
        blank = "x" * width(prefix)
        return super()._format_usage(usage, actions, groups, blank).replace(blank, prefix, 1)

    def _split_lines(self, text, width):
        return wrapped(text, width)

    def _fill_text(self, text, width, indent):
        parts = ([line] if line.startswith(" ") else wrapped(line, width) for line in text.splitlines())
        return "\n".join(indent + line for part in parts for line in part)


def translated(message: str, words: Words) -> str:
    """Return a sentence of argparse in a language, or as it is if it is not among the known ones.

    The English sentences under `cli.argparse.` are those of argparse, and tell its names and values apart.
    """
    for name, sentence in Words("en").under("cli")["argparse"].items():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(sentence))
        if found := re.fullmatch(pattern, message, re.DOTALL):
            facts = found.groupdict()
            if "reason" in facts:
                facts["reason"] = translated(facts["reason"], words)
            return words(f"cli.argparse.{name}", **facts)
    return message
