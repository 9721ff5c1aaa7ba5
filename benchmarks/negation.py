"""How often a classifier of reviews changes its prediction when a sentence is negated.

`python benchmarks/negation.py [--model imdb-sentiment]`. Each pair is a sentence about a film and its
negation, written for this purpose. For each pair it prints the probability of the label that fits the first
sentence, in both; then how many of the first sentences are read rightly, in how many pairs the prediction
changes with the negation, and in how many both sentences are read rightly.
"""

import argparse

from transformer_viz.network.startup import load_upper_floor

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


def main():
    """Print the figures of one model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="imdb-sentiment")
    explorer = load_upper_floor("inspection.explorer").load(parser.parse_args().model)
    right = flips = both = 0
    for label, pairs in (("positive", PRAISE), ("negative", BLAME)):
        for pair in pairs:
            plain, negated = explorer.predict(pair)[f"prob_{label}"]
            right += plain > 0.5
            flips += (plain > 0.5) != (negated > 0.5)
            both += plain > 0.5 >= negated
            print(f"{label} {plain:6.1%} → {negated:6.1%}  {pair[0]} / {pair[1]}")
    total = len(PRAISE) + len(BLAME)
    print(f"{total} pairs: {right} read rightly before, {both} before and after; {flips} predictions change")


if __name__ == "__main__":
    main()
