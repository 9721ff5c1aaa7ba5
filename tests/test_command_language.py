"""The command line in the reader's language: help, usage, mistakes and output, and its choice."""

import argparse
import re

import pytest
from chinese import english, is_chinese

from transformer_viz.cli.help import translated
from transformer_viz.cli.language import asked_language, localized, speaking, words
from transformer_viz.cli.main import main
from transformer_viz.cli.parser import build_parser
from transformer_viz.cli.program import EXAMPLES
from transformer_viz.cli.width import width
from transformer_viz.language import LANGUAGES, Problem, Words


def parsers(language):
    """Return command -> its parser in a language; "app": the program without one."""
    with speaking(language):
        parser = build_parser()
    [commands] = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return {"app": parser, **commands.choices}


def helped(capsys, *arguments):
    """Return what is printed for arguments that ask for help."""
    with pytest.raises(SystemExit) as end:
        main([*arguments])
    printed = capsys.readouterr()
    assert (end.value.code, printed.err) == (0, "")
    return printed.out


def refused(capsys, *arguments):
    """Return the last line that is printed for arguments that cannot be parsed."""
    with pytest.raises(SystemExit) as end:
        main([*arguments])
    printed = capsys.readouterr()
    assert (end.value.code, printed.out) == (2, "")
    return printed.err.splitlines()[-1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_option_of_every_command_has_help(language):
    for command, parser in parsers(language).items():
        for action in parser._actions:
            if not isinstance(action, argparse._SubParsersAction):
                assert action.help, (command, action.dest)
                assert (language == "zh") == bool(re.search(r"[\u4e00-\u9fff]", action.help)), action.help


def test_every_sentence_of_the_help_is_of_an_option():
    known = {
        (command, names[-1].lstrip("-").replace("-", "_"))
        for command, parser in parsers("en").items()
        for names in (action.option_strings or [action.dest] for action in parser._actions)
    }
    names = {name for _, name in known}
    for key in Words("en").sentences:
        if key.startswith("cli.help."):
            *command, name = key.removeprefix("cli.help.").split(".")
            assert (*command, name) in known if command else name in names, key


def test_every_command_is_described_and_has_one_example():
    assert parsers("zh").keys() == {"app", *EXAMPLES}
    for language in LANGUAGES:
        for parser in parsers(language).values():
            text = parser.format_help()
            assert text.count("python -m transformer_viz ") == 2  # in the usage, and in the example
            assert re.search(r"\n(example|示例)[:：]\n  python -m transformer_viz .+\n\Z", text)
            assert "".join(parser.description.split()) in "".join(text.split())


@pytest.mark.parametrize("command", ["app", *EXAMPLES])
def test_no_line_of_the_chinese_help_is_in_english(command):
    parser = parsers("zh")[command]
    text = re.sub(r"^ +python -m .*$", "", parser.format_help().partition("\n\n")[2], flags=re.MULTILINE)
    assert re.search(r"[\u4e00-\u9fff]", text)
    assert english(re.sub(r"\{.*?\}|[A-Z_=]+|, ", "|", text)) == []
    assert not re.search("usage|options|arguments|default|example", text.replace("--examples", ""))


def test_chinese_help_is_as_narrow_as_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    usage, about, *_ = parsers("zh")["roles"].format_help().split("\n\n")
    text = parsers("zh")["roles"].format_help().partition("\n\n")[2].rpartition("\n\n")[0]
    assert max(map(width, text.splitlines())) <= 58
    assert max(map(width, text.splitlines())) >= 56
    assert not re.search(r"^\s*[，。、；：）]", text, re.MULTILINE)
    first, second = usage.splitlines()[:2]
    assert width(first.partition("[")[0]) == len(second) - len(second.lstrip())
    assert about.startswith("显示每个头")


@pytest.mark.parametrize(
    "arguments", [["--lang", "zh", "runs"], ["runs", "--lang", "zh"], ["runs", "--lang=zh"]]
)
def test_the_language_is_named_before_or_after_the_command(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    assert helped(capsys, *arguments, "--help").startswith("用法：python -m transformer_viz runs ")
    assert refused(capsys, *arguments, "--none") == "python -m transformer_viz: 错误：无法识别的参数：--none"


def test_the_language_that_is_named_goes_before_that_of_the_system(capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert helped(capsys, "--help").startswith("用法：")
    assert helped(capsys, "--lang", "en", "--help").startswith("usage: ")
    assert helped(capsys, "--help").startswith("用法：")  # it is forgotten after the command
    assert main(["--lang", "en", "stop", "nothing"]) == 2
    assert "There is no training run 'nothing'." in capsys.readouterr().err
    assert words().language == "zh"
    assert main(["stop", "nothing"]) == 2
    assert "没有训练“nothing”。" in capsys.readouterr().err


def test_a_language_that_there_is_not_is_a_mistake(capsys):
    assert refused(capsys, "runs", "--lang", "fr").startswith(
        "python -m transformer_viz runs: error: argument --lang: invalid choice: 'fr'"
    )
    assert refused(capsys, "--lang").endswith(" error: argument --lang: expected one argument")


def test_the_rest_of_the_arguments_is_kept_in_order():
    typed = ["train", "--data", "a", "b", "--lang", "zh", "--set", "d_model=8", "-q", "--label-names", "0=a"]
    assert asked_language(typed) == ("zh", [*typed[:4], *typed[6:]])


def test_an_error_is_in_the_language_that_is_spoken():
    with speaking("zh"):
        assert localized(Problem("command.stopped")) == "已停止。"
    with speaking("en"):
        assert localized(Problem("command.stopped")) == "stopped."


TRAIN = ("train", "--data", "copy", "--out", "any")

MISTAKES = {
    "缺少以下参数：--model, --text": ("generate",),
    "参数 --model：需要一个值": ("predict", "--model"),
    "参数 --text：至少需要一个值": ("predict", "--text"),
    "参数 COMMAND：没有 'predct' 这一选择，可选：'models', 'doctor', ": ("predct",),
    "必须指定以下参数之一：--text --measure": ("explain", "--model", "a"),
    "参数 --measure：不能与参数 --text 同时使用": ("explain", "--model", "a", "--text", "b", "--measure"),
    "参数 --epochs：应为整数。收到：'many'": (*TRAIN, "--epochs", "many"),
    "参数 --warmup：应为数字。收到：'long'": (*TRAIN, "--warmup", "long"),
    "选项 --se 不明确，可能是：--set, --seed": (*TRAIN, "--se", "1"),
    "无法识别的参数：--none 5": (*TRAIN, "--none", "5"),
    "参数 --pack：不接受值 'yes'": (*TRAIN, "--pack=yes"),
}


@pytest.mark.parametrize("said", MISTAKES)
def test_what_cannot_be_parsed_is_said_in_chinese(capsys, said):
    line = refused(capsys, "--lang", "zh", *MISTAKES[said])
    assert line.partition(": ")[2].startswith("错误：")
    assert said.replace("'", "") in line.replace("'", "")
    assert is_chinese(line.partition(": ")[2])


def test_the_sentences_of_argparse_are_those_of_this_python(capsys):
    for said in MISTAKES.values():
        message = refused(capsys, "--lang", "en", *said).partition("error: ")[2]
        assert translated(message, Words("en")) == message
        assert translated(message, Words("zh")) != message
