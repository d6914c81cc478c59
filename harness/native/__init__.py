"""Models that are asked through tools: `--protocol native`."""
