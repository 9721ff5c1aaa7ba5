"""The roles of heads in the JSON of earlier versions."""

import json

from transformer_viz.questions.roles.result import HeadRoles


def third_version(found: HeadRoles) -> str:
    """Return roles as version 3 wrote them: it did not tell how long the texts are."""
    return json.dumps(_without_lengths(found))


def second_version(found: HeadRoles) -> str:
    """Return roles as version 2 wrote them: it did not measure what is nearby."""
    return json.dumps(_without_nearby(found))


def first_version(found: HeadRoles) -> str:
    """Return roles as version 1 wrote them: without words, too."""
    content = _without_nearby(found)
    del content["words"]
    for kind in content["kinds"].values():
        del kind["ratio"], kind["ratio_spread"]
    return json.dumps(content | {"format_version": 1})


def _without_lengths(found):
    content = json.loads(found.to_json())
    del content["tokens"], content["short"]
    return content | {"format_version": 3}


def _without_nearby(found):
    content = _without_lengths(found)
    for kind in content["kinds"].values():
        if "nearby" in kind["names"]:
            place = kind["names"].index("nearby")
            layers = [layer for name in ("share", "spread", "even", "held") for layer in kind[name]]
            heads = [head for layer in layers for head in layer]
            for measures in (kind["names"], kind["support"], kind["texts"], *heads):
                del measures[place]
    return content | {"format_version": 2}
