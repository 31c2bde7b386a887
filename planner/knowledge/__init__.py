"""The knowledge graph of a conversation: what it holds, what it learns from results, and what matters for a goal."""
