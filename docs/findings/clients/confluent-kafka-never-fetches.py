"""python confluent-kafka-never-fetches.py BOOTSTRAP, with confluent-kafka 2.16.1 and kafka-python.

The cluster has two brokers, and its offsets topic is on both (offsets.topic.replication.factor=2).
"""

import sys
import time
import uuid

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient
from kafka import TopicPartition as Named

bootstrap, name = sys.argv[1], f"fetches-{uuid.uuid4().hex[:8]}"


def move_coordinators():
    """Give each partition of the offsets topic to its other replica."""
    tool = KafkaAdminClient(bootstrap_servers=bootstrap)
    (topic,) = tool.describe_topics(["__consumer_offsets"])
    rows = topic["partitions"]
    turned = {
        Named(topic["name"], row["partition_index"]): [
            *(node for node in row["replica_nodes"] if node != row["leader_id"]),
            row["leader_id"],
        ]
        for row in rows
    }
    tool.alter_partition_reassignments(turned)
    time.sleep(1)
    tool.elect_leaders(0, [topic["name"]])  # the first of its replicas leads each partition
    time.sleep(2)
    tool.close()


def read(seconds, **callbacks):
    """Poll as a member of the group; return the offsets that poll gave to its user."""
    member = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": name,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 45_000,
            "heartbeat.interval.ms": 15_000,  # so that it is no heartbeat that finds the move
        }
    )
    member.subscribe([name], **callbacks)
    end, offsets = time.monotonic() + seconds, []
    while time.monotonic() < end:
        message = member.poll(0.1)
        if message is not None and message.error() is not None:
            print("poll returns:", message.error().name(), message.error().str(), flush=True)
        elif message is not None:
            offsets.append(message.offset())
    print("it is a member, and has:", [(p.topic, p.partition) for p in member.assignment()])
    member.close()
    return offsets


admin = AdminClient({"bootstrap.servers": bootstrap})
admin.create_topics([NewTopic(name, 1, 1)])[name].result()
producer = Producer({"bootstrap.servers": bootstrap})
for _ in range(10):
    producer.produce(name, b"x")
producer.flush()
print("read while the coordinator moves:", read(40, on_assign=lambda *_: move_coordinators()))
print("read by the next member:", read(10))
