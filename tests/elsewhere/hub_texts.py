"""The texts that the folders of hub_types.py are asked about, on both sides."""

TEXT = "The film was not good."
SECOND = "My friend goes there."
TARGET = "The film"
