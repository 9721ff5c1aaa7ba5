"""The lessons: read in both languages, and true of the models that they are about."""

import functools
import json
import random
import re
import string
from collections import Counter

import numpy as np
import pytest
from made_traces import unpack
from numpy.testing import assert_allclose
from running_app import ROOT
from shelf import shelved as loaded

import transformer_viz as tv
from transformer_viz.language import LANGUAGES, Problem, Words, sentence_of
from transformer_viz.lessons.read import (
    AFTERWARDS,
    CHOICES,
    CLAIM,
    FIELDS,
    PREDICT,
    SHIPPED,
    TRAIN,
    list_lessons,
    read_lesson,
)
from transformer_viz.pictures.changes import is_offered
from transformer_viz.pictures.labels import answer_text
from transformer_viz.pictures.lens import Around, payload_of
from transformer_viz.pictures.lessons import broken_claims, choices_of, truth_of, view_of
from transformer_viz.questions.evaluation.measure import induction_scores, same_token_scores
from transformer_viz.store.places import PACKAGE
from transformer_viz.trace.request import EFFECTS

NAMES = sorted(path.stem for path in (SHIPPED / "en").glob("*.md"))
KINDS = ("key", "answer", "head", "training")
TRAINED = "16-what-warm-up-is-for"
"""What it asks is answered by two trainings."""

ASKING = [name for name in NAMES if name != TRAINED]

GOOD = """+++
title = "A"
question = "B?"
minutes = 3
source = "C"
model = "single-block"
text = "not good"
{more}
+++
## See
s
## Do
d
## Reveal
r
## Notes
n
"""


TWO = 'predict = { ask = "training", setting = "warmup", values = [%s] }'


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """The folder of a teacher's own lessons."""
    monkeypatch.setenv("TRANSFORMER_VIZ_LESSONS", str(tmp_path))
    return tmp_path


@functools.cache
def answer(request):
    explorer = loaded(request.model)
    if request.wants == EFFECTS:
        return tv.head_effects(explorer, request.text, target=request.target, **request.changes.to_dict())
    return explorer.trace(request.text, target=request.target, **request.changes.to_dict())


def lesson_of(name, language="en"):
    return read_lesson(SHIPPED / language / f"{name}.md")


def test_there_are_lessons_for_each_kind_of_prediction():
    lessons = list_lessons("en")
    assert lessons.problems == []
    assert [lesson.name for lesson in lessons.lessons] == NAMES
    assert len(NAMES) >= 8
    assert {lesson.predict.ask for lesson in lessons.lessons} == set(KINDS)


OF_ITS_LANGUAGE = {
    *("03-does-order-matter", "05-do-not-peek", "06-how-translation-aligns"),
    *("08-attention-is-not-explanation", "09-which-head-carries-not"),
}
"""Lessons that have a model and a text for each language, and say the same with them."""


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_the_same_in_every_language_but_for_its_words(name):
    lessons = [lesson_of(name, language) for language in LANGUAGES]
    told = {"title", "question", "source", "see", "do", "reveal", "notes"}
    own = {"model", "text", "kind", "layer", "head", "claims", "predict", "after_text", "changes"}
    left_out = told | own if name in OF_ITS_LANGUAGE else told
    facts = [{key: value for key, value in vars(each).items() if key not in left_out} for each in lessons]
    assert facts[0] == facts[1]
    assert all(vars(lessons[0])[key] != vars(lessons[1])[key] for key in told)
    if name in OF_ITS_LANGUAGE:
        assert lessons[0].model != lessons[1].model
        assert lessons[0].predict.ask == lessons[1].predict.ask


@pytest.mark.parametrize("name", NAMES)
def test_lessons_name_controls_as_they_are_called(name):
    """In Chinese names of controls stand in quotation marks, in English in italics."""
    texts = {
        language: json.loads((PACKAGE / "language" / f"{language}.json").read_text("utf-8"))
        for language in LANGUAGES
    }
    told, others = (
        "\n".join([lesson.see, lesson.do, lesson.reveal, lesson.notes])
        for lesson in (lesson_of(name, "zh"), lesson_of(name, "en"))
    )
    for quoted in re.findall("“([^”*]+)”", told):
        keys = [key for key, text in texts["zh"].items() if text == quoted]
        assert keys, quoted
        assert any(f"*{texts['en'][key].lower()}*" in others.lower() for key in keys), quoted


def test_every_language_has_the_same_lessons():
    for language in LANGUAGES:
        assert sorted(path.stem for path in (SHIPPED / language).glob("*")) == NAMES


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_lesson_promises_is_what_its_model_does(name, language):
    lesson = lesson_of(name, language)
    assert lesson.claims
    assert broken_claims(lesson, lesson.model, answer) == []


def test_what_the_notes_say_of_a_hundred_words_holds_of_another_hundred():
    """The numbers stand in the notes on copying, in both languages."""
    explorer, draw = loaded("induction"), random.Random(11)
    words = [draw.sample(string.ascii_lowercase, 8) for _ in range(100)]

    def copied(ablate):
        traces = (explorer.trace(" ".join(word + word[:6]), ablate=ablate) for word in words)
        return sum(answer_text(trace) == word[6] for trace, word in zip(traces, words, strict=True))

    heads = [(0, head) for head in range(4)]
    assert min(copied([head]) for head in heads) >= 85
    alone = [copied([other for other in heads if other != head]) for head in heads]
    assert 20 <= min(alone) <= max(alone) <= 80
    for language in ("en", "zh"):
        lesson = read_lesson(SHIPPED / language / "07-how-a-head-copies.md")
        assert {"100", "85", "20", "80"} <= set(re.findall(r"\d+", lesson.notes))


@pytest.mark.thorough
def test_what_the_notes_say_of_a_hundred_strings_of_digits_holds_of_another_hundred():
    """The numbers stand in the notes on many heads, in both languages."""
    explorer, draw = loaded("reverse-digits"), random.Random(12)
    strings = ["".join(draw.choices(string.digits, k=draw.randint(5, 9))) for _ in range(100)]

    def reversed_rightly(ablate):
        traces = (explorer.trace(" ".join(digits), ablate=ablate) for digits in strings)
        pairs = zip(traces, strings, strict=True)
        return sum(answer_text(trace).replace(" ", "") == digits[::-1] for trace, digits in pairs)

    heads = [("cross", 0, head) for head in range(4)]
    assert min(reversed_rightly([head]) for head in heads) >= 80
    alone = [reversed_rightly([other for other in heads if other != head]) for head in heads]
    assert max(alone) <= 35
    for language in ("en", "zh"):
        lesson = read_lesson(SHIPPED / language / "10-many-heads-or-one.md")
        assert {"100", "80", "35"} <= set(re.findall(r"\d+", lesson.notes))


def test_the_model_that_copies_names_has_heads_of_the_same_token_and_of_induction():
    """What the notes say of three heads that began so, measured on random tokens."""
    same, induction = same_token_scores(loaded("reviews-next")), induction_scores(loaded("reviews-next"))
    assert [*zip(*np.nonzero(same >= 0.5), strict=True)] == [(0, 0), (1, 0), (2, 0)]
    assert min(induction[1, 5], induction[2, 2], induction[3, 4]) >= 0.5


POEMS = (
    "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
    "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
    "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。",
    "千山鸟飞绝，万径人踪灭。孤舟蓑笠翁，独钓寒江雪。",
    "空山不见人，但闻人语响。返景入深林，复照青苔上。",
    "红豆生南国，春来发几枝。愿君多采撷，此物最相思。",
    "松下问童子，言师采药去。只在此山中，云深不知处。",
    "绿蚁新醅酒，红泥小火炉。晚来天欲雪，能饮一杯无。",
    "独坐幽篁里，弹琴复长啸。深林人不知，明月来相照。",
    "人闲桂花落，夜静春山空。月出惊山鸟，时鸣春涧中。",
    "众鸟高飞尽，孤云独去闲。相看两不厌，只有敬亭山。",
    "朝辞白帝彩云间，千里江陵一日还。两岸猿声啼不住，轻舟已过万重山。",
    "故人西辞黄鹤楼，烟花三月下扬州。孤帆远影碧空尽，唯见长江天际流。",
    "两个黄鹂鸣翠柳，一行白鹭上青天。窗含西岭千秋雪，门泊东吴万里船。",
    "远上寒山石径斜，白云生处有人家。停车坐爱枫林晚，霜叶红于二月花。",
    "清明时节雨纷纷，路上行人欲断魂。借问酒家何处有，牧童遥指杏花村。",
    "月落乌啼霜满天，江枫渔火对愁眠。姑苏城外寒山寺，夜半钟声到客船。",
    "少小离家老大回，乡音无改鬓毛衰。儿童相见不相识，笑问客从何处来。",
    "独在异乡为异客，每逢佳节倍思亲。遥知兄弟登高处，遍插茱萸少一人。",
    "渭城朝雨浥轻尘，客舍青青柳色新。劝君更尽一杯酒，西出阳关无故人。",
    "李白乘舟将欲行，忽闻岸上踏歌声。桃花潭水深千尺，不及汪伦送我情。",
    "日照香炉生紫烟，遥看瀑布挂前川。飞流直下三千尺，疑是银河落九天。",
    "葡萄美酒夜光杯，欲饮琵琶马上催。醉卧沙场君莫笑，古来征战几人回。",
    "秦时明月汉时关，万里长征人未还。但使龙城飞将在，不教胡马度阴山。",
)


def test_a_head_attends_to_the_rhyme_of_most_poems_and_without_it_the_rhyme_makes_no_difference():
    explorer = loaded("poems-zh")

    def weight_of_rhyme(poem):
        row = explorer.trace(poem[:-2]).decoder[2].self_attention.weights[1, -1]
        return row[len(poem) // 2 - 1]  # [START] stands before the first character

    assert sum(weight_of_rhyme(poem) > 0.5 for poem in POEMS) == 22
    assert len(POEMS) == 24
    poem = "白日依山尽，黄河入海{}。欲穷千里目，更上一层"
    texts = [poem.format(rhyme) for rhyme in "流天东来清"]
    assert "".join(answer_text(explorer.trace(text)) for text in texts) == "楼巅峰台城"
    without = {answer_text(explorer.trace(text, ablate=[(2, 1)])) for text in texts}
    assert without <= {"城", "楼"}
    for language in LANGUAGES:
        notes = lesson_of("17-how-a-poem-rhymes", language).notes
        assert {"97", "100", "22", "24"} <= set(re.findall(r"\d+", notes))
        assert all(character in notes for character in "流天东来清巅峰台城")


SWAPPED = (
    *(
        ("我爱你。", "你爱我。"),
        ("我喜欢他。", "他喜欢我。"),
        ("他认识我。", "我认识他。"),
        ("她帮了我。", "我帮了她。"),
    ),
    *(("我相信你。", "你相信我。"), ("我比他高。", "他比我高。"), ("汤姆爱玛丽。", "玛丽爱汤姆。")),
    *(
        ("我等你。", "你等我。"),
        ("我恨他。", "他恨我。"),
        ("他打了我。", "我打了他。"),
        ("我想你。", "你想我。"),
    ),
    *(("我看见她了。", "她看见我了。"), ("你了解我。", "我了解你。"), ("他需要你。", "你需要他。")),
    *(
        ("我懂你。", "你懂我。"),
        ("她比你大。", "你比她大。"),
        ("我问他。", "他问我。"),
        ("她爱他。", "他爱她。"),
    ),
    *(("他们喜欢我们。", "我们喜欢他们。"), ("他们认识我们。", "我们认识他们。")),
)
AT_THE_END = (
    *("I came yesterday.", "I bought this book yesterday.", "I met her yesterday.", "I saw him yesterday."),
    *("He went to Japan last year.", "She called me yesterday.", "We played tennis yesterday."),
    *("He bought a car yesterday.", "I will see you tomorrow.", "He left yesterday.", "It rained yesterday."),
    *(
        "I lost my watch yesterday.",
        "She came here yesterday.",
        "He died yesterday.",
        "They arrived yesterday.",
    ),
    *("I read this book yesterday.", "I will call you tomorrow.", "He will come tomorrow."),
    *("We are leaving tomorrow.", "She is busy today.", "I am tired today.", "He came here today."),
)


def test_what_the_notes_say_of_swapped_chinese_sentences_holds_of_twenty():
    explorer = loaded("translate-zh-en")
    assert len(SWAPPED) == 20
    for pair in SWAPPED:
        assert len({answer_text(explorer.trace(text)) for text in pair}) == 2
        assert len({answer_text(explorer.trace(text, positions="none")) for text in pair}) == 1
    assert "20 个" in lesson_of("03-does-order-matter", "zh").notes


DENIED = (
    *(
        "房间不干净。",
        "服务不好。",
        "早餐不好吃。",
        "房间不脏。",
        "晚上不吵。",
        "位置不方便。",
        "质量不好。",
        "味道不好。",
    ),
    *(
        "屏幕不清晰。",
        "包装不严实。",
        "水果不新鲜。",
        "电池不耐用。",
        "速度不快。",
        "前台不热情。",
        "房间不大。",
    ),
    *(
        "设施不新。",
        "味道不难闻。",
        "价格不贵。",
        "效果不明显。",
        "环境不安静。",
        "酒店不推荐。",
        "衣服不舒服。",
    ),
    *("物流不快。", "客服不耐心。"),
)


def test_what_the_notes_say_of_the_chinese_not_holds_of_twenty_four_sentences():
    explorer, strongest = loaded("reviews-zh"), Counter()
    for text in DENIED:
        effects = tv.head_effects(explorer, text).log_odds["encoder"]
        strongest[np.unravel_index(effects.argmax(), effects.shape)] += 1
    assert len(DENIED) == 24
    assert (strongest[0, 2], strongest[0, 1]) == (13, 9)
    notes = lesson_of("09-which-head-carries-not", "zh").notes
    assert {"24", "13", "9"} <= set(re.findall(r"\d+", notes))


def test_what_the_notes_say_of_the_head_that_aligns_chinese_holds_of_twenty_sentences():
    explorer = loaded("translate-en-zh")

    def read_for_the_time(text):
        trace = explorer.trace(text)
        place = next(n for n, token in enumerate(trace.target_tokens) if token in "昨明今去")
        row = trace.decoder[1].cross_attention.weights[6, place - 1]
        return row[-2] > 0.9  # the time stands before the full stop

    assert sum(map(read_for_the_time, AT_THE_END)) == 21
    assert len(AT_THE_END) == 22
    assert {"21", "22"} <= set(re.findall(r"\d+", lesson_of("06-how-translation-aligns", "zh").notes))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_a_lesson_changes_and_offers_to_take_it_back(name, language):
    assert is_offered(lesson_of(name, language).changes)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ASKING)
def test_the_right_choice_is_one_of_those_offered(name, language):
    lesson = lesson_of(name, language)
    choices = choices_of(Words("en"), lesson, answer(lesson.request(lesson.model)))
    right, _ = truth_of(lesson, lesson.model, answer)
    assert right in choices.names
    assert len(choices.labels) == len(set(choices.labels)) > 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ASKING)
def test_what_is_revealed_names_the_right_choice(name, language):
    lesson = lesson_of(name, language)
    right, _ = truth_of(lesson, lesson.model, answer)
    choices = choices_of(Words("en"), lesson, answer(lesson.request(lesson.model)))
    if lesson.predict.ask == "key" or (right.isdigit() and lesson.predict.ask == "answer"):
        assert f"**{choices.labels[int(right)]}**" in lesson.reveal


def written(folder, text, name="own.md"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_teacher_s_lessons_stand_after_those_of_the_program(own):
    written(own, GOOD.format(more=""), "a.md")
    (own / "zh").mkdir()
    written(own / "zh", GOOD.format(more=""), "b.md")
    assert [lesson.name for lesson in list_lessons("en").lessons] == [*NAMES, "a"]
    assert [lesson.name for lesson in list_lessons("zh").lessons] == [*NAMES, "a", "b"]


def test_a_lesson_of_the_same_name_takes_the_place_of_one_of_the_program(own):
    written(own, GOOD.format(more=""), f"{NAMES[1]}.md")
    lessons = list_lessons("en").lessons
    assert [lesson.name for lesson in lessons] == NAMES
    assert lessons[1].question == "B?"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no lesson", "own.md must begin with a line of +++"),
        ("+++\na = \n+++\n", "are not TOML"),
        ("x" * 100_001, "more than 100 kB"),
        (GOOD.format(more="").replace('title = "A"\n', ""), "own.md does not set “title”."),
        (
            GOOD.format(more="").replace("minutes = 3", 'minutes = "3"'),
            "must be a whole number from 1",
        ),
        (GOOD.format(more="").replace("minutes = 3", "minutes = true"), "“minutes” must be a whole number"),
        (GOOD.format(more="layer = 0"), "“layer” must be a whole number from 1"),
        (GOOD.format(more="after = 5"), "“after” must be a table"),
        (GOOD.format(more="claims = 5"), "“claims” must be a list of tables"),
        (GOOD.format(more="claims = [5]"), "“claims” must be a table"),
        (
            GOOD.format(more="title2 = 5"),
            "which lessons do not have. Possible here: title,",
        ),
        (GOOD.format(more='view = "all heads"'), "“view” must be one of: all, grid,"),
        (GOOD.format(more='page = "masks"'), "“page” must be one of: attention, map, train."),
        (GOOD.format(more='task = "chess"'), "“task” must be one of: reverse, copy,"),
        (GOOD.format(more="train = { warmup = 5 }"), "“warmup” must be a number from 0 to 0.9."),
        (GOOD.format(more="train = { layers = 0 }"), "“layers” must be a whole number from 1"),
        (GOOD.format(more='predict = { ask = "key" }'), "does not set “query”"),
        (GOOD.format(more='predict = { ask = "answer" }'), "“predict” speaks of a second run"),
        (GOOD.format(more='predict = { ask = "training" }'), "does not set “setting”"),
        (GOOD.format(more=TWO % "0.2, 0"), "does not set “task”"),
        (GOOD.format(more='task = "copy"\n' + TWO % "0.2"), "“values” must be two or more different"),
        (
            GOOD.format(more='task = "copy"\n' + TWO % "1, 1"),
            "“values” must be two or more different",
        ),
        (
            GOOD.format(more='task = "copy"\n' + TWO % "1, 'a'"),
            "“values” must be two or more different",
        ),
        (GOOD.format(more='[[claims]]\nof = "moved"'), "“claims” speaks of a second run"),
        (GOOD.format(more='[[claims]]\nof = "written"\ndiffers = 5'), "“differs” must be true or false"),
        (GOOD.format(more='[[claims]]\nof = "answer"\nleast = "5"'), "“least” must be a number"),
        (GOOD.format(more="after = { changes = { scale = 3 } }"), "the changes cannot be understood"),
        (GOOD.format(more="").replace("## Do\n", ""), "lacks the section “## Do”"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_sentence_of_both_languages(own, text, sentence):
    path = written(own, text)
    with pytest.raises(Problem) as problem:
        read_lesson(path)
    assert sentence in str(problem.value)
    assert "own.md" in sentence_of(problem.value, "zh") != str(problem.value)
    shelf = list_lessons("en")
    assert ([lesson.name for lesson in shelf.lessons], list(map(str, shelf.problems))) == (
        NAMES,
        [str(problem.value)],
    )


def test_a_file_in_another_encoding_is_refused_with_the_way_out(own):
    (own / "own.md").write_bytes("+++\ntitle = '课'".encode("gbk"))
    with pytest.raises(Problem, match=r"own\.md is not in UTF-8\. Save it as UTF-8\."):
        read_lesson(own / "own.md")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ('predict = { ask = "key", query = "terrible" }', "own names “terrible”, but exactly one of"),
        ('predict = { ask = "key", query = "not" }\nhead = 9', "has no layer 1 with a head 9"),
        ('predict = { ask = "head" }\nlayer = 2', "has no layer 2 with a head 1"),
    ],
)
def test_a_lesson_that_does_not_fit_its_model_says_so(own, more, sentence):
    lesson = read_lesson(written(own, GOOD.format(more=more)))
    with pytest.raises(Problem, match=sentence):
        truth_of(lesson, lesson.model, answer)


@pytest.mark.parametrize(
    "claim",
    [
        'of = "weight"\nquery = "not"\nkey = "good"\nleast = 0.9',
        'of = "answer"\nlabel = "positive"\nleast = 0.9',
        'of = "answer"\nlabel = "positive"\ntext = "good"\nmost = 0.1',
        'of = "moved"\nleast = 0.9',
        'of = "effect"\nhead = 2\nleast = 5',
        'of = "written"\ndiffers = true',
    ],
)
def test_a_promise_that_the_model_does_not_keep_is_found(own, claim):
    more = f"after = {{ changes = {{ scaling = false }} }}\n[[claims]]\n{claim}"
    lesson = read_lesson(written(own, GOOD.format(more=more)))
    assert broken_claims(lesson, lesson.model, answer) == list(lesson.claims)


def test_tokens_that_occur_twice_are_told_apart():
    lesson = lesson_of("01-who-looks-where")
    choices = choices_of(Words("en"), lesson, answer(tv.Request("reverse-digits", "7 7 1")))
    assert choices.labels == ["7 (1)", "7 (2)", "1"]


def test_what_a_model_answers_is_a_label_a_text_or_a_token():
    found = [answer(tv.Request(*each)) for each in (("single-block", "good"), ("reverse-digits", "1 2"))]
    assert [answer_text(each) for each in found] == ["positive", "2 1"]


def test_the_example_in_the_documentation_is_a_lesson_that_its_model_keeps(own):
    text = (ROOT / "docs" / "en" / "lessons.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```\n(\+\+\+.*?)```", text, re.DOTALL)
    lesson = read_lesson(written(own, example))
    assert broken_claims(lesson, lesson.model, answer) == []
    assert truth_of(lesson, lesson.model, answer)[0] == "0"
    assert "**negative**" in lesson.reveal


def test_every_setting_of_a_lesson_is_documented():
    text = (ROOT / "docs" / "en" / "lessons.md").read_text(encoding="utf-8")
    fields = {*FIELDS, *CLAIM, *PREDICT, *AFTERWARDS, *TRAIN} | {
        word for words in CHOICES.values() for word in words
    }
    assert [name for name in fields if not re.search(rf"\b{name}\b", text)] == []


def test_a_covered_row_is_not_sent_nor_what_would_give_it_away():
    lesson = lesson_of("06-how-translation-aligns")
    trace = answer(lesson.request(lesson.model))
    view = view_of(lesson, trace, covers=True)
    assert (view.kind, view.layer, view.head, view.view, view.row) == ("cross", 1, 2, "all", 3)
    header, arrays = unpack(payload_of(trace, Words("en"), around=Around(lesson=view)))
    cross = header["attentions"][-1]
    assert cross["covered"] == [1, 2, 3]
    assert header["lesson"] == {"name": lesson.name, "kind": "cross", "layer": 1, "head": 2, "view": "all"}
    assert cross["sayings"][cross["heads"] + 2] == lesson.question
    assert cross["usual"][cross["heads"] + 2] == ""
    assert "measures" not in cross
    weights = arrays["cross"]["weights"].copy()
    assert not weights[1, 2, 3].any()
    weights[1, 2, 3] = trace.kinds()["cross"].layers[1].weights[2, 3]
    assert_allclose(weights, [layer.weights for layer in trace.kinds()["cross"].layers], atol=1e-3)


def test_a_revealed_row_is_sent():
    lesson = lesson_of("06-how-translation-aligns")
    trace = answer(lesson.request(lesson.model))
    view = view_of(lesson, trace, covers=False)
    header, arrays = unpack(payload_of(trace, Words("en"), around=Around(lesson=view)))
    assert header["attentions"][-1]["covered"] is None
    assert arrays["cross"]["weights"][1, 2, 3].max() > 0.9
