"""Makes the models and the ranking that ship: extraction of training pairs, training, export and evaluation."""
