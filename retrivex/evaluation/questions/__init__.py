"""Questions: files of questions in, questions with evidence out."""
