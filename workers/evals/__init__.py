"""Golden conversations state what an agent must do with given messages, as facts about the turns, never about prose."""
