"""Research: search documents, read pages of the web, take notes, lay what sources say side by side."""
