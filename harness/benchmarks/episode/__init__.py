"""Episodes on live pages."""
