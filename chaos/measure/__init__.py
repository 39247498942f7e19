"""What is measured in a record: how long each phase of a hand-off took, beside what theory allows."""
