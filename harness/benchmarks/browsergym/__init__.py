"""Tasks of BrowserGym, played in an environment of their own (docs/browsergym.md)."""
