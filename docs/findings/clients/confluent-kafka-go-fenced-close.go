// go run FILE BOOTSTRAP, in a module that requires confluent-kafka-go v2.15.0.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

var bootstrap, name = os.Args[1], fmt.Sprintf("fenced-%d", time.Now().UnixNano())

func ok[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func consumer() *kafka.Consumer {
	made := ok(kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers":     bootstrap,
		"group.id":              name,
		"group.instance.id":     "i-1",
		"auto.offset.reset":     "earliest",
		"session.timeout.ms":    10_000,
		"heartbeat.interval.ms": 1000,
	}))
	ok(0, made.SubscribeTopics([]string{name}, nil))
	return made
}

// pollUntil polls for at most a minute.
func pollUntil(one *kafka.Consumer, what func(kafka.Event) bool) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if what(one.Poll(100)) {
			return
		}
	}
	panic("it did not happen")
}

func main() {
	admin := ok(kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": bootstrap}))
	topic := kafka.TopicSpecification{Topic: name, NumPartitions: 1, ReplicationFactor: 1}
	ok(admin.CreateTopics(context.Background(), []kafka.TopicSpecification{topic}))
	producer := ok(kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": bootstrap}))
	at := kafka.TopicPartition{Topic: &name, Partition: kafka.PartitionAny}
	ok(0, producer.Produce(&kafka.Message{TopicPartition: at, Value: []byte("x")}, nil))
	producer.Flush(10_000)

	first := consumer()
	pollUntil(first, func(event kafka.Event) bool { _, is := event.(*kafka.Message); return is })
	fmt.Println("the first process reads")
	second := consumer()
	pollUntil(second, func(kafka.Event) bool { return len(ok(second.Assignment())) > 0 })
	fmt.Println("the second process, with the same instance id, has the partition")
	pollUntil(first, func(event kafka.Event) bool { err, is := event.(kafka.Error); return is && err.IsFatal() })
	fmt.Println("the first one gets a fatal error, and calls Close")
	closed := make(chan error)
	go func() { closed <- first.Close() }()
	select {
	case err := <-closed:
		fmt.Println("Close returned:", err)
	case <-time.After(30 * time.Second):
		fmt.Println("Close has not returned after 30 s")
	}
}
