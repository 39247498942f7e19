"""The plugins in the tree: one file, one plugin. `replica.plugins.registry` names them all."""
