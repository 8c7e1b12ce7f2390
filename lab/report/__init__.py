"""The result file, the chart and the table of a run."""
