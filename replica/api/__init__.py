"""The objects that scheduling reads, their stored form, and manifests as kubectl's users write them."""
