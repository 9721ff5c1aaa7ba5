"""The command that fetches a model of the Hugging Face hub."""

from argparse import Namespace

from transformer_viz import store
from transformer_viz.cli.language import t
from transformer_viz.cli.output import is_quiet, remark, say
from transformer_viz.cli.program import program


def fetch(arguments: Namespace) -> None:
    """Say what the model is, fetch it into `models/`, and say how it is opened."""
    from transformer_viz.store.hugging_face import hub  # noqa: PLC0415  loads what speaks to the network

    found = hub.hub_model(arguments.model)
    licence = found.licence or t("cli.fetch.no_licence")
    remark(t("cli.fetch.found", name=found.name, size=found.size / 1e6, licence=licence))
    if is_quiet():
        hub.hide_progress()
    place = hub.fetch_model(arguments.model)
    say(t("cli.fetch.wrote", place=place, parameters=store.read_config(place).num_parameters))
    remark(t("cli.fetch.open", command=f"{program()} trace --model {place.name} --text ..."))
