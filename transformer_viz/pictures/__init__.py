"""What is drawn of a trace: Plotly figures and canvas views."""
