"""Files as an attacker or an accident makes them, and what reading each must come to: it is used, or one sentence."""
