"""Ranker models: lexical ranks, cross-encoders and their training, recall, published ranks."""
