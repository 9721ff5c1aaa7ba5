"""Plotly figures and canvas views of a trace."""
