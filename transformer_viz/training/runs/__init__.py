"""Training runs as folders, without Keras.

`runs/<id>/` holds `job.json`, the request; `events.jsonl`, an append-only log; `checkpoint.safetensors`;
`model/`, the best model so far; `epochs/`, those of epochs 0, 1, 2, 4, 8, ...; `parent/`, a copy of the model
it is fine-tuned from; and `frames/`, the attention of a few probe texts over time. Pages read nothing but
this folder.
"""
