"""python kafka-python-join-forgotten.py BOOTSTRAP, with kafka-python 3.0.12."""

import sys
import threading
import time
import uuid

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient

bootstrap, stop = sys.argv[1], threading.Event()
producer = KafkaProducer(bootstrap_servers=bootstrap)


def member(topic):
    made = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=topic,
        heartbeat_interval_ms=500,
        auto_offset_reset="earliest",
    )
    made.subscribe([topic])
    return made


def read_on(other):
    while not stop.is_set():
        other.poll(timeout_ms=1000)
    other.close()


def records(reader, timeout_ms, seconds):
    ends, count = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        count += sum(map(len, reader.poll(timeout_ms=timeout_ms).values()))
    return count


for timeout_ms in (5000, 100):
    old = f"forgotten-{uuid.uuid4().hex[:8]}"
    new = f"{old}-new"
    KafkaAdminClient(bootstrap_servers=bootstrap).create_topics(
        {topic: {"num_partitions": 2, "replication_factor": 1} for topic in (old, new)}
    )
    stop.clear()
    first, second = member(old), member(old)
    while not first.assignment():
        first.poll(timeout_ms=1000)
    thread = threading.Thread(target=read_on, args=(first,))
    thread.start()
    while not second.assignment():
        second.poll(timeout_ms=5000)
    second.subscribe([old, new])
    records(second, timeout_ms, 10)
    for topic in (old, new):
        for partition in (0, 1):
            producer.send(topic, b"x", partition=partition)
    producer.flush()
    count = records(second, timeout_ms, 10)
    print(
        f"a member subscribes to one more topic and polls for {timeout_ms} ms each time", flush=True
    )
    print(f"records that it reads in 10 s, of three: {count}")
    stop.set()
    thread.join()
    second.close()
