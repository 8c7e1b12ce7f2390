"""The texts below `lessons/`, checked, rendered and written as pages."""
