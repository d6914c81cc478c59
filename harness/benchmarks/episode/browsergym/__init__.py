"""Tasks of BrowserGym, played in their own environment (docs/episodes.md)."""
