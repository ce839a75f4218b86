"""python kafka-python-fenced-heartbeat.py BOOTSTRAP, with kafka-python 3.0.12."""

import sys
import threading
import time
import uuid

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient

bootstrap, name, stop = sys.argv[1], f"fenced-{uuid.uuid4().hex[:8]}", threading.Event()
KafkaAdminClient(bootstrap_servers=bootstrap).create_topics(
    {name: {"num_partitions": 1, "replication_factor": 1}}
)
producer = KafkaProducer(bootstrap_servers=bootstrap)


def consumer():
    return KafkaConsumer(
        name,
        bootstrap_servers=bootstrap,
        group_id=name,
        group_instance_id="i-1",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=10_000,
        heartbeat_interval_ms=500,
    )


def second():
    other = consumer()
    while not stop.is_set():
        if other.poll(timeout_ms=100):
            taken.set()
    other.close()


first, taken, seconds = consumer(), threading.Event(), []
producer.send(name, b"x").get(10)
while not first.poll(timeout_ms=100):
    pass
print("the first process reads", flush=True)
thread = threading.Thread(target=second)
thread.start()
began = None
while began is None or time.monotonic() - began < 10:
    producer.send(name, b"x")
    for records in first.poll(timeout_ms=100).values():
        if began is not None:
            seconds.append(time.monotonic() - began)
    if began is None and taken.is_set():
        began = time.monotonic()
        print("the second process, with the same instance id, reads", flush=True)
print(f"no error in 10 s; {len(seconds)} more polls gave records to the first process")
print(f"the last one after {seconds[-1] if seconds else 0:.1f} s", flush=True)
stop.set()
thread.join()
