"""The languages of replies: which one a reply has, its words, and how it writes dates, numbers and money."""
