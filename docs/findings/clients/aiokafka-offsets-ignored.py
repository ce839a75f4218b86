"""python aiokafka-offsets-ignored.py BOOTSTRAP, with aiokafka 0.14.0 and kafka-python 3.0.12.

The cluster has two brokers, and its offsets topic is on both (offsets.topic.replication.factor=2).
"""

import asyncio
import sys
import time
import uuid

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.structs import OffsetAndMetadata
from kafka import KafkaAdminClient
from kafka import TopicPartition as Named
from kafka.admin import NewTopic

bootstrap, name = sys.argv[1], f"ignored-{uuid.uuid4().hex[:8]}"
partition = TopicPartition(name, 0)


def move_coordinators():
    """Give each partition of the offsets topic to its other replica."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    (topic,) = admin.describe_topics(["__consumer_offsets"])
    turned = {}
    for row in topic["partitions"]:
        nodes = sorted(row["replica_nodes"], key=lambda node: node == row["leader_id"])
        turned[Named(topic["name"], row["partition_index"])] = nodes
    admin.alter_partition_reassignments(turned)
    time.sleep(1)
    admin.elect_leaders(0, [topic["name"]])  # the first of its replicas leads each partition
    time.sleep(2)
    admin.close()


class Moving(ConsumerRebalanceListener):
    """Lets the coordinator move before the committed offsets are asked for."""

    def on_partitions_revoked(self, revoked):
        """Let them go."""

    def on_partitions_assigned(self, assigned):
        """Move the coordinator, while the event loop waits."""
        move_coordinators()


async def main():
    KafkaAdminClient(bootstrap_servers=bootstrap).create_topics([NewTopic(name, 1, 1)])
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    for _ in range(10):
        await producer.send_and_wait(name, b"x", partition=0)
    await producer.stop()
    settings = {"bootstrap_servers": bootstrap, "group_id": name, "enable_auto_commit": False}
    tool = AIOKafkaConsumer(**settings)
    tool.assign([partition])
    await tool.start()
    await tool.commit({partition: OffsetAndMetadata(8, "")})
    print("committed:", await tool.committed(partition), flush=True)
    await tool.stop()
    member = AIOKafkaConsumer(**settings, auto_offset_reset="earliest")
    member.subscribe([name], listener=Moving())
    await member.start()
    record = await asyncio.wait_for(member.getone(), 20)
    print("the member begins at:", record.offset)
    await member.stop()


asyncio.run(main())
