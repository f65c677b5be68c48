"""Vectors that a team keeps on a server for one another: `seal` names and seals them, `places` puts them there, and
`sealed_vectors` asks for them and offers them."""
