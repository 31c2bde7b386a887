"""Golden conversations: what an agent must do with given messages, said as facts about the turns, never about prose."""
