"""Questions asked of a model: a folder for each, with its plain results and what measures them."""
