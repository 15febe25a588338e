"""How much of the evidence reaches the context, beside other packages."""
