"""python kafka-python-commit-of-nobody.py BOOTSTRAP [static], with kafka-python 3.0.12."""

import sys
import time
import uuid

from kafka import KafkaConsumer, KafkaProducer, TopicPartition, errors
from kafka.admin import KafkaAdminClient, NewTopic

bootstrap, name = sys.argv[1], f"nobody-{uuid.uuid4().hex[:8]}"
is_static = sys.argv[2:] == ["static"]

admin = KafkaAdminClient(bootstrap_servers=bootstrap)
admin.create_topics([NewTopic(name, 2, 1)])
producer = KafkaProducer(bootstrap_servers=bootstrap)
for number in range(20):
    producer.send(name, b"x", partition=number % 2)
producer.flush()


def consumer(instance):
    return KafkaConsumer(
        name,
        bootstrap_servers=bootstrap,
        group_instance_id=instance if is_static else None,
        group_id=name,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=60_000,
    )


def poll(one, seen):
    for partition, records in one.poll(timeout_ms=100).items():
        seen[partition] = seen.get(partition, 0) + len(records)


a, b, by_a, by_b = consumer("i-1"), consumer("i-2"), {}, {}
until = time.monotonic() + 30
while time.monotonic() < until and not (a.assignment() and b.assignment()):
    poll(a, by_a)
    poll(b, by_b)
for _ in range(30):
    poll(a, by_a)
    poll(b, by_b)
(mine,) = a.assignment()
print("a has read to", a.position(mine), "of", mine.partition)
a.unsubscribe()
by_b.clear()
if is_static:
    a.subscribe([name])
until, raised = time.monotonic() + 10, []
while time.monotonic() < until:
    poll(b, by_b)
    if is_static:
        try:
            poll(a, by_a)
        except errors.FencedInstanceIdError as error:
            raised.append(type(error).__name__)
            time.sleep(1)
if is_static:
    print("a subscribed again; its poll raised:", set(raised), len(raised), "times")
print("committed:", b.committed(TopicPartition(name, mine.partition)))
print("b has read of it again:", by_b.get(mine, 0))
