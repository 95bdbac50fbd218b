"""What a table says, and how its parts are called."""
