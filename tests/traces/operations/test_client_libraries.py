"""Tell client libraries by the client ids and assignors that nobody has set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fencepost.traces.operations.client_libraries import LIBRARIES, library_of

DRIVERS = Path(__file__).resolve().parents[3] / "docs" / "clients" / "drivers.md"
IN_DRIVERS = {
    "Java's consumer": "java",
    "Kafka Streams": "java",
    "librdkafka": "confluent-kafka",
    "KafkaJS": "kafkajs",
}


@pytest.mark.parametrize(
    ("client_id", "name"),
    [
        ("consumer-orders-1", "Java's consumer"),
        ("consumer-12", "Java's consumer"),
        ("wc-0d1e-StreamThread-2-consumer", "Kafka Streams"),
        ("rdkafka", "librdkafka"),
        ("kafkajs", "KafkaJS"),
        ("app@pod-3 (github.com/segmentio/kafka-go)", "kafka-go"),
        ("sarama", "sarama"),
        ("kgo", "franz-go"),
        ("kafka-python-2.0.2", "kafka-python"),
        ("aiokafka-0.8.1", "aiokafka"),
    ],
)
def test_a_client_id_that_nobody_set_names_the_library(client_id: str, name: str) -> None:
    library = library_of(client_id)
    assert library is not None
    assert library.name == name


@pytest.mark.parametrize("client_id", ["orders-1", "", "my-sarama", "connect-1", "consumer"])
def test_a_client_id_of_its_own_names_none(client_id: str) -> None:
    assert library_of(client_id) is None


def test_an_assignor_that_one_library_has_names_it() -> None:
    library = library_of("mailer", "List(RoundRobinAssigner)")
    assert library is not None
    assert (library.name, library.has_static) == ("KafkaJS", False)
    assert library_of("mailer", "List(range, roundrobin)") is None


def test_libraries_have_static_members_where_their_drivers_do() -> None:
    row = r"^\| `(\S+)` \|.*\| (yes|no) \| (?:yes|no) \|$"
    rows = re.findall(row, DRIVERS.read_text(), re.MULTILINE)
    known = {name: says == "yes" for name, says in rows}
    for library in LIBRARIES:
        name = IN_DRIVERS.get(library.name, library.name)
        assert library.has_static is known[name], name
