"""The course's texts: numbers held by claims, both languages in step, quizzes, glossary."""
