"""Read and write Kafka's wire format: codec, strict reader, record batches, refusals, faults."""
