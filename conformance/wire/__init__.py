"""Read and write Kafka's wire format: the codec, the strict reader, record batches, refusals."""
