"""Processes that load models: the engine answers pages, the trainer trains, admission checks uploads."""
