"""The only callers of a model: they count calls, keep states and samples, and name what fails."""
