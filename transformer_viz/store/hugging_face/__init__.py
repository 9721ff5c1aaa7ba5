"""Folders of the Hugging Face hub, read into the layers of this package."""

from transformer_viz.store.hugging_face.folder import identity, is_hugging_face, read_contents, read_folder

__all__ = ["identity", "is_hugging_face", "read_contents", "read_folder"]
