"""Numbers for a queue, each given once, by whichever replica leads."""
