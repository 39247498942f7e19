"""What waits to be scheduled, and in which order: heaps, the scheduling queue, the work queue."""
