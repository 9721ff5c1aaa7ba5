"""The roles of heads in the JSON of earlier versions."""

import json

from transformer_viz.values.head_roles import HeadRoles


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


def _without_nearby(found):
    content = json.loads(found.to_json())
    for kind in content["kinds"].values():
        if "nearby" in kind["names"]:
            place = kind["names"].index("nearby")
            layers = [layer for name in ("share", "spread", "even", "held") for layer in kind[name]]
            heads = [head for layer in layers for head in layer]
            for measures in (kind["names"], kind["support"], kind["texts"], *heads):
                del measures[place]
    return content | {"format_version": 2}
