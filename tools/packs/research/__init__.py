"""Research: search documents, read web pages, take notes, and compare what sources say."""
