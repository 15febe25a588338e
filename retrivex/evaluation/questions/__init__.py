"""Files of questions in, questions with evidence out."""
