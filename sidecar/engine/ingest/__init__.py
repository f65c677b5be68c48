"""From a path to what the index stores: plan, prepare, embed, write, and fill the vector store."""
