"""Admission of uploaded models: a process of its own checks and runs each before it is put on the shelf."""

from transformer_viz.service.admission.admit import UnfitNameError as UnfitNameError
from transformer_viz.service.admission.admit import admit_model as admit_model
