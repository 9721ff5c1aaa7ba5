"""How often a model of poems keeps the form of regulated verse: `python benchmarks/poem_form.py`.

A poem in form has 4 or 8 lines of 5 or of 7 characters each; every second one ends a sentence. Each poem is
sampled at temperature 1 from [START] alone. Beside it stands the same count with one head switched off, for
the heads without which most poems lose their form.
"""

import argparse
import re

from transformer_viz.store.load import load
from transformer_viz.text.special import UNK

FORM = re.compile(r"(?:(?:\S{5}，\S{5}。){2}){1,2}|(?:(?:\S{7}，\S{7}。){2}){1,2}")
"""Four or eight lines of five, or of seven, characters."""

LONGEST = 72
"""Most characters of a poem; the longest form has 64."""


def main():
    """Print the share of poems in form, with all heads and without each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="poems-zh")
    parser.add_argument("--poems", type=int, default=200)
    parser.add_argument("--without-heads", action="store_true", help="also without each head")
    arguments = parser.parse_args()
    explorer = load(arguments.model)
    print(f"all heads  {share(explorer, arguments.poems):.1%}", flush=True)
    if arguments.without_heads:
        for layer in range(explorer.config.num_decoder_layers or explorer.config.num_layers):
            for head in range(explorer.config.num_heads):
                kept = share(explorer, arguments.poems, ablate=[(layer, head)])
                print(f"without {layer}.{head}  {kept:.1%}", flush=True)


def share(explorer, poems, **changes):
    """Return the share of sampled poems that are in form."""
    kept = 0
    for seed in range(poems):
        written = explorer.generate("", temperature=1.0, seed=seed, max_new=LONGEST, keep=None, **changes)
        text = "".join(written.text.replace(UNK, "□").split())  # a rare character
        kept += FORM.fullmatch(text) is not None
    return kept / poems


if __name__ == "__main__":
    main()
