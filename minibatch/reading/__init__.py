"""Files from outside, read under limits: what is hostile ends in one sentence, soon and in little memory."""
