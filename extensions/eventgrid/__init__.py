"""Special cases of eventgrid."""
