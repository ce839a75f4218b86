"""python confluent-kafka-fenced-commit.py BOOTSTRAP, with confluent-kafka 2.16.1."""

import sys
import time
import uuid

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

bootstrap, name = sys.argv[1], f"fenced-{uuid.uuid4().hex[:8]}"
admin = AdminClient({"bootstrap.servers": bootstrap})
admin.create_topics([NewTopic(name, 1, 1)])[name].result()
producer = Producer({"bootstrap.servers": bootstrap})


def consumer():
    made = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": name,
            "group.instance.id": "i-1",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 45_000,
            "heartbeat.interval.ms": 15_000,  # so that the commit is fenced first
        }
    )
    made.subscribe([name])
    return made


def read(one, what):
    while True:
        producer.produce(name, b"x")
        producer.poll(0)
        message = one.poll(0.1)
        if message is not None and message.error() is None:
            return print(what, flush=True)


first = consumer()
read(first, "the first process reads")
second = consumer()
read(second, "the second process, with the same instance id, reads")
try:
    first.commit(asynchronous=False)
except KafkaException as error:
    print("commit raises:", error.args[0].name(), "fatal():", error.args[0].fatal())
began, records = time.monotonic(), 0
while time.monotonic() - began < 5:
    producer.produce(name, b"x")
    producer.poll(0)
    message = first.poll(0.1)
    if message is not None and message.error() is not None:
        print("poll returns:", message.error().name(), "fatal():", message.error().fatal())
    elif message is not None:
        records += 1
print(f"records that poll gave to the first process after that: {records}", flush=True)
first.close()
second.close()
