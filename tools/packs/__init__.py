"""The tool packs that are shipped, one package each."""
