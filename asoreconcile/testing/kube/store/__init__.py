"""All objects, the numbered stream of their changes, and the folder that keeps them."""
