"""What is known of the candidate files of a search, and how it is weighed."""
