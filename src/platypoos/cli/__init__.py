"""Every command: each parses its options, calls the API and prints."""
