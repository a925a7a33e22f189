"""The metadata of a cluster: records, the image that they make, and the log that keeps them."""
