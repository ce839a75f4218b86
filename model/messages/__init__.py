"""Define Kafka's requests and answers: field names, versions, errors."""
