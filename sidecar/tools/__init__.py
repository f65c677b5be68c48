"""The tools and the service that calls them: validate, ask a person, run, shape the answer."""
