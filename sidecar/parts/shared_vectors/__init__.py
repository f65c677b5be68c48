"""Vectors that the members of a team keep on a server for one another. `seal` names and seals them, `places` stores and
fetches them, and `sealed_vectors` decides when the server is asked."""
