"""The forms in which people keep settings, a file a form, each read into one deployment."""
