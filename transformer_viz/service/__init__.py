"""The processes that own models: one answers, one trains, one checks what comes from elsewhere."""
