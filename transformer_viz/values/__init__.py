"""Plain values: model configs, requests, interventions and traces."""
