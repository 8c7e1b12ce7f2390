"""What to write: wirings, what the engines know by name, and which versions go together."""
