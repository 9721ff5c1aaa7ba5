"""How often a classifier of reviews changes its prediction when a sentence is negated.

`python benchmarks/negation.py [--model imdb-sentiment]`. Each pair is a sentence and its negation, written
for this purpose before the models were trained: about films for labels in English, about hotels and goods
for those in Chinese, where ten negate a sentence that is negated already. For each pair it prints the
probability of the label that fits the first sentence, in both; then how many of the first sentences are read
rightly, in how many pairs the prediction changes with the negation, and in how many both sentences are read
rightly.
"""

import argparse

from transformer_viz.network.startup import import_with_keras

PRAISE = (
    ("This film was good.", "This film was not good."),
    ("The acting is convincing.", "The acting is not convincing."),
    ("I liked the ending.", "I did not like the ending."),
    ("The story is interesting.", "The story isn't interesting."),
    ("It is worth watching.", "It is not worth watching."),
    ("I would recommend it to anyone.", "I would not recommend it to anyone."),
    ("The jokes are funny.", "The jokes are never funny."),
    ("This is a great movie.", "This is not a great movie."),
    ("The dialogue was well written.", "The dialogue was not well written."),
    ("The director knows what he is doing.", "The director does not know what he is doing."),
    ("The characters are believable.", "None of the characters are believable."),
    ("I was moved by the last scene.", "I was not moved by the last scene."),
    ("The songs are memorable.", "The songs aren't memorable."),
    ("It kept me awake.", "It did not keep me awake."),
    ("The plot makes sense.", "The plot makes no sense."),
)
BLAME = (
    ("This film was bad.", "This film was not bad."),
    ("The acting is awful.", "The acting is not awful."),
    ("I was bored.", "I was never bored."),
    ("It was a waste of time.", "It was not a waste of time."),
    ("The script is stupid.", "The script is not stupid."),
    ("You will regret watching it.", "You will not regret watching it."),
    ("The story disappoints.", "The story does not disappoint."),
    ("I hated it.", "I didn't hate it."),
    ("The ending is predictable.", "The ending isn't predictable."),
    ("There are dull moments.", "There is not a dull moment."),
    ("The effects look cheap.", "The effects do not look cheap."),
    ("This is the worst film of the year.", "This is not the worst film of the year."),
    ("The middle part is boring.", "No part of it is boring."),
    ("It fails as a comedy.", "It does not fail as a comedy."),
    ("I have complaints about the cast.", "I have no complaints about the cast."),
)
CHINESE_PRAISE = (
    ("房间干净。", "房间不干净。"),
    ("服务很好。", "服务不好。"),
    ("早餐好吃。", "早餐不好吃。"),
    ("下次还会来。", "下次不会再来。"),
    ("值得买。", "不值得买。"),
    ("屏幕很清晰。", "屏幕一点也不清晰。"),
    ("水果很新鲜。", "水果并不新鲜。"),
    ("我很满意。", "我很不满意。"),
    ("电池耐用。", "电池不耐用。"),
    ("老板有诚意。", "老板没有诚意。"),
)
CHINESE_BLAME = (
    ("房间很脏。", "房间不脏。"),
    ("晚上很吵。", "晚上一点也不吵。"),
    ("味道难闻。", "味道不难闻。"),
    ("运行很卡。", "运行一点都不卡。"),
    ("我后悔买了它。", "我不后悔买了它。"),
    ("有异味。", "没有异味。"),
    ("包装破了。", "包装没有破。"),
    ("价格太贵。", "价格不贵。"),
    ("令人失望。", "没有让人失望。"),
    ("有很多缺点。", "没有什么缺点。"),
    # Negated twice.
    ("房间不好。", "房间不是不好。"),
    ("服务不周到。", "服务没有不周到的地方。"),
    ("质量不行。", "质量不是不行。"),
    ("我不满意。", "我没有不满意的地方。"),
    ("不推荐。", "没有理由不推荐。"),
    ("不值得住。", "不能说不值得住。"),
    ("房间不干净。", "房间没有一处不干净。"),
    ("孩子不喜欢。", "没有人不喜欢。"),
    ("住得不舒服。", "没有什么不舒服的。"),
    ("菜不好吃。", "菜没有一样不好吃。"),
)

PAIRS = {
    ("negative", "positive"): {"positive": PRAISE, "negative": BLAME},
    ("好评", "差评"): {"好评": CHINESE_PRAISE, "差评": CHINESE_BLAME},
}
"""Labels of a model, sorted -> label of the first sentences -> pairs."""


def main():
    """Print the figures of one model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="imdb-sentiment")
    explorer = import_with_keras("store.load").load(parser.parse_args().model)
    right = flips = both = total = 0
    for label, pairs in PAIRS[tuple(sorted(explorer.labels))].items():
        total += len(pairs)
        for pair in pairs:
            plain, negated = explorer.predict(pair)[f"prob_{label}"]
            right += plain > 0.5
            flips += (plain > 0.5) != (negated > 0.5)
            both += plain > 0.5 >= negated
            print(f"{label} {plain:6.1%} → {negated:6.1%}  {pair[0]} / {pair[1]}")
    print(f"{total} pairs: {right} read rightly before, {both} before and after; {flips} predictions change")


if __name__ == "__main__":
    main()
