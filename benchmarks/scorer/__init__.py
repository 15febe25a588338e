"""How the scorer is fitted, and what its parts are worth."""
