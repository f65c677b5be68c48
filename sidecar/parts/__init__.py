"""The parts that the engine is built from: each does one job, and each library is imported by one of them."""
