"""What heads and words usually do, over many texts: rules, measurements, results."""
