"""A baseline that reads: it answers by matching words with the text of the picture."""
