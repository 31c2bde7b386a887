"""What a conversation remembers: slots, knowledge and a summary."""
