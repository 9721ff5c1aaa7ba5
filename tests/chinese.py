"""What of a Chinese sentence is in English."""

import re

QUOTED = re.compile(r"`[^`]*`|“[^”]*”|'[^']*'|\{.*\}|[^\s（：，。]*[/\\=][^\s，。）]*|Hugging Face Hub")
"""Names, values and commands, which are the same in every language."""


def english(text):
    """Return what reads as English: three words in a row that are no name, value or command."""
    return re.findall(r"[A-Za-z]{2,}(?: [A-Za-z]+){2,}", QUOTED.sub("|", text))


def is_chinese(text):
    """Return whether a sentence has Chinese in it, and nothing that reads as English."""
    return bool(re.search(r"[\u4e00-\u9fff]", text)) and english(text) == []
