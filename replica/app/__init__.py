"""From options to a running replica: options, config, completed config, setup, run."""
