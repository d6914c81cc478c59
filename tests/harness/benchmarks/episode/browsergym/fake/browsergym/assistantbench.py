"""Fails as the suite does where its data cannot be fetched."""

raise ConnectionError("Couldn't reach 'AssistantBench/AssistantBench' on the Hub")
