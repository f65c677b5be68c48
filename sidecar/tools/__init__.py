"""The tools, and the service that calls them: it validates, asks a person, runs the tool and shapes the answer."""
