"""python aiokafka-commit-of-nobody.py BOOTSTRAP [unsubscribe], with aiokafka 0.14.0."""

import asyncio
import sys
import time
import uuid

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

bootstrap, name = sys.argv[1], f"nobody-{uuid.uuid4().hex[:8]}"
unsubscribes = sys.argv[2:] == ["unsubscribe"]
partition = TopicPartition(name, 0)


async def main():
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, 1, 1)])
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    for _ in range(10):
        await producer.send_and_wait(name, b"x")
    await producer.stop()
    member = AIOKafkaConsumer(
        name,
        bootstrap_servers=bootstrap,
        group_id=name,
        group_instance_id=None if unsubscribes else "i-1",
        auto_offset_reset="earliest",
        auto_commit_interval_ms=60_000,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=500,
    )
    await member.start()
    read = 0
    while read < 10:
        read += sum(map(len, (await member.getmany(timeout_ms=100)).values()))
    if unsubscribes:
        member.unsubscribe()
        await asyncio.sleep(2)
    else:
        time.sleep(9)  # blocks the event loop: no heartbeats, so its session ends
    tool = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False)
    tool.assign([partition])  # what kafka-consumer-groups --reset-offsets does
    await tool.start()
    await tool.commit({partition: 3})
    print("an administrator sets the offset:", await tool.committed(partition), flush=True)
    if unsubscribes:
        member.subscribe([name])
    for _ in range(50):
        await member.getmany(timeout_ms=100)
    offsets = await admin.list_consumer_group_offsets(name)
    print("5 s after the member came back:", offsets[partition].offset)
    await tool.stop()
    await member.stop()
    await admin.close()


asyncio.run(main())
