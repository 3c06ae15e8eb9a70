"""What machines and networks are made of, what a transfer takes there, and what a join would."""
