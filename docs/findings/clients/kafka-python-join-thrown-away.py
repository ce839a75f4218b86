"""python kafka-python-join-thrown-away.py BOOTSTRAP, with kafka-python 3.0.12."""

import sys
import threading
import time
import uuid
from collections import Counter

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.admin import KafkaAdminClient

bootstrap, name, stop = sys.argv[1], f"thrown-away-{uuid.uuid4().hex[:8]}", threading.Event()
KafkaAdminClient(bootstrap_servers=bootstrap).create_topics(
    {name: {"num_partitions": 4, "replication_factor": 1}}
)
assigned: Counter[str] = Counter()


class _Listener(ConsumerRebalanceListener):
    def __init__(self, instance):
        self.instance = instance

    def on_partitions_assigned(self, partitions):
        assigned[self.instance] += 1

    def on_partitions_revoked(self, partitions):
        pass


def member(instance):
    made = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=name,
        group_instance_id=instance,
        session_timeout_ms=30_000,
        heartbeat_interval_ms=500,
    )
    made.subscribe([name], listener=_Listener(instance))
    return made


def second():
    other = member("i-2")
    while not stop.is_set():
        other.poll(timeout_ms=1000)
    other.close()


leader = member("i-1")
while not leader.assignment():
    leader.poll(timeout_ms=1000)
thread = threading.Thread(target=second)
thread.start()
while not assigned["i-2"] or len(leader.assignment()) != 2:
    leader.poll(timeout_ms=1000)
for timeout_ms in (1000, 1):
    leader.close()
    before, ends = assigned["i-2"], time.monotonic() + 15
    leader = member("i-1")
    while time.monotonic() < ends:
        leader.poll(timeout_ms=timeout_ms)
        time.sleep(0.3)
    count = assigned["i-2"] - before
    print(f"the leader is restarted and polls for {timeout_ms} ms each time", flush=True)
    print(f"rebalances that the other member saw in 15 s: {count}", flush=True)
stop.set()
thread.join()
