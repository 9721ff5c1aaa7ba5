"""How good the answers of a model are on a data set."""
