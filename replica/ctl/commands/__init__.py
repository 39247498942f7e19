"""The commands themselves: options in, calls of the parts beside this folder, lines out."""
