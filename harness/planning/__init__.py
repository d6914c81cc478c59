"""Settings to a plan: the benchmark opened, protocol and model declared, mistakes found."""
