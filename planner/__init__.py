"""What to do, what to say. Pure, but for the language-model call."""
