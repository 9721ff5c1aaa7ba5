"""The command that fetches a model of the Hugging Face hub."""

from argparse import Namespace

from transformer_viz import store
from transformer_viz.cli.program import program


def fetch(arguments: Namespace) -> None:
    """Say what the model is, fetch it into `models/`, and say how it is opened."""
    from transformer_viz.store.hugging_face import hub  # noqa: PLC0415  loads what speaks to the network

    found = hub.hub_model(arguments.model)
    licence = found.licence or "no licence stated"
    print(f"{found.name}: {found.size / 1e6:,.1f} MB, {licence}")
    place = hub.fetch_model(arguments.model)
    config = store.read_config(place)
    print(f"Wrote {place}: {config.num_parameters:,} parameters.")
    print(f"Open it in the app, or: {program()} trace --model {place.name} --text ...")
