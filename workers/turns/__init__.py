"""Parts of planning and answering a turn: its context, its language model, its early steps, its end."""
