"""The reply: its material, its prompts, its composition, and the check of what it says."""
