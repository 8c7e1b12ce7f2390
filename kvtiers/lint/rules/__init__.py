"""What is looked for, a file a topic; words and severities stand in rules.toml beside this folder."""
