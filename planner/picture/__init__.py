"""Pictures of plans."""
