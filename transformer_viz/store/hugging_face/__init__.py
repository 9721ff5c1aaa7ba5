"""Folders of the Hugging Face hub, read into the layers of this package."""

from transformer_viz.store.hugging_face.folder import identity, is_hugging_face, read_contents, read_folder

PREFIX = "hf:"
"""What stands before the name of a model of the hub: hf:google-bert/bert-base-uncased."""

__all__ = ["PREFIX", "identity", "is_hugging_face", "read_contents", "read_folder"]
