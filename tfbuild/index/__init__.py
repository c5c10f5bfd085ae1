"""Package indexes that pip and uv read: the static folder, and servers that take uploads."""
