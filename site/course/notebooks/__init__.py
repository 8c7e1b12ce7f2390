"""The notebooks as pages: exported, with one frontend, one Python and saved views for all."""
