"""Everything that is made for machine code."""
