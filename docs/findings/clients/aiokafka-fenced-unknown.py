"""python aiokafka-fenced-unknown.py BOOTSTRAP, with aiokafka 0.14.0."""

import asyncio
import sys
import uuid

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import for_code

bootstrap, name = sys.argv[1], f"fenced-{uuid.uuid4().hex[:8]}"


async def process():
    consumer = AIOKafkaConsumer(
        name,
        bootstrap_servers=bootstrap,
        group_id=name,
        group_instance_id="i-1",
        enable_auto_commit=False,
        session_timeout_ms=30_000,
        heartbeat_interval_ms=10_000,  # so that the join is fenced before a heartbeat is refused
    )
    await consumer.start()
    while not consumer.assignment():
        await consumer.getmany(timeout_ms=100)
    return consumer


async def main():
    print("the class of error 82:", for_code(82))
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, 1, 1), NewTopic(name + "-2", 1, 1)])
    await admin.close()
    first = await process()
    second = await process()
    first.subscribe([name, name + "-2"])  # joins again, with the member id that was replaced
    try:
        for _ in range(30):
            await first.getmany(timeout_ms=100)
        print("no error in 3 s")
    except Exception as error:
        print("getmany raises:", repr(error))
    for consumer in (first, second):
        await asyncio.wait({asyncio.create_task(consumer.stop())}, timeout=5)


asyncio.run(main())
