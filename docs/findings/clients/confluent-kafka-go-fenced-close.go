// go run . BOOTSTRAP, in a module that requires confluent-kafka-go v2.15.0.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

var bootstrap, name = os.Args[1], fmt.Sprintf("fenced-%d", time.Now().UnixNano())

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func consumer() *kafka.Consumer {
	made, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers":     bootstrap,
		"group.id":              name,
		"group.instance.id":     "i-1",
		"auto.offset.reset":     "earliest",
		"session.timeout.ms":    10_000,
		"heartbeat.interval.ms": 1000,
	})
	must(err)
	must(made.SubscribeTopics([]string{name}, nil))
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

func isMessage(event kafka.Event) bool { _, is := event.(*kafka.Message); return is }

func main() {
	admin, err := kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": bootstrap})
	must(err)
	topic := kafka.TopicSpecification{Topic: name, NumPartitions: 1, ReplicationFactor: 1}
	_, err = admin.CreateTopics(context.Background(), []kafka.TopicSpecification{topic})
	must(err)
	producer, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": bootstrap})
	must(err)
	at := kafka.TopicPartition{Topic: &name, Partition: kafka.PartitionAny}
	must(producer.Produce(&kafka.Message{TopicPartition: at, Value: []byte("x")}, nil))
	producer.Flush(10_000)

	first := consumer()
	pollUntil(first, isMessage)
	fmt.Println("the first process reads")
	second := consumer()
	pollUntil(second, func(event kafka.Event) bool {
		assigned, err := second.Assignment()
		return err == nil && len(assigned) > 0
	})
	fmt.Println("the second process, with the same instance id, has the partition")
	pollUntil(first, func(event kafka.Event) bool {
		fatal, is := event.(kafka.Error)
		return is && fatal.IsFatal()
	})
	fmt.Println("the first one is told a fatal error, and calls Close")
	closed := make(chan error)
	go func() { closed <- first.Close() }()
	select {
	case err := <-closed:
		fmt.Println("Close returned:", err)
	case <-time.After(30 * time.Second):
		fmt.Println("Close has not returned after 30 s")
	}
}
