"""python aiokafka-heartbeat-without-instance.py BOOTSTRAP, with aiokafka 0.14.0."""

import asyncio
import sys
import uuid

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

bootstrap, name = sys.argv[1], f"swap-{uuid.uuid4().hex[:8]}"


class Count(ConsumerRebalanceListener):
    """Count how often a process is given the partitions."""

    times = 0

    def on_partitions_revoked(self, revoked):
        """Nothing to do."""

    def on_partitions_assigned(self, assigned):
        """Count."""
        self.times += 1


async def process(count):
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=name,
        group_instance_id="i-1",
        enable_auto_commit=False,
        session_timeout_ms=10_000,
        heartbeat_interval_ms=500,
    )
    consumer.subscribe([name], listener=count)
    await consumer.start()
    while True:
        await consumer.getmany(timeout_ms=100)  # raises nothing


async def main():
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, 1, 1)])
    await admin.close()
    counts = Count(), Count()
    tasks = []
    for count in counts:
        tasks.append(asyncio.create_task(process(count)))
        while count.times == 0:
            await asyncio.sleep(0.1)
    await asyncio.wait(tasks, timeout=20)
    print("errors that a user got:", [task.exception() for task in tasks if task.done()])
    print("times in 20 s that each process got the partition:", [c.times for c in counts])


asyncio.run(main())
