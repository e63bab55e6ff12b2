"""Facts with a due date: what is due for a person, and the announcement of what becomes due."""
