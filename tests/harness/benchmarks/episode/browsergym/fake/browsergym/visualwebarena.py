"""A suite that cannot be imported."""

raise LookupError("Resource punkt_tab not found.\nPlease use the NLTK Downloader")
