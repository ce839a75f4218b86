// go run FILE BOOTSTRAP, in a module that requires IBM/sarama v1.61.1.
// The cluster has two brokers, and its offsets topic is on both
// (offsets.topic.replication.factor=2).
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

const offsets = "__consumer_offsets"

var (
	name   = fmt.Sprintf("silence-%d", time.Now().UnixNano())
	config = sarama.NewConfig()
	admin  sarama.ClusterAdmin
	done   = make(chan struct{})
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// moveCoordinators gives each partition of the offsets topic to its other replica.
func moveCoordinators() {
	topics := must(admin.DescribeTopics([]string{offsets}))
	turned := make([][]int32, len(topics[0].Partitions))
	every := make([]int32, 0, len(turned))
	for _, partition := range topics[0].Partitions {
		for _, node := range partition.Replicas {
			if node != partition.Leader {
				turned[partition.ID] = []int32{node, partition.Leader}
			}
		}
		every = append(every, partition.ID)
	}
	if err := admin.AlterPartitionReassignments(offsets, turned); err != nil {
		panic(err)
	}
	time.Sleep(time.Second)
	must(admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{offsets: every}))
	time.Sleep(2 * time.Second)
}

type member struct{}

func (member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		if session.MarkMessage(message, ""); message.Offset < 9 {
			continue
		}
		moveCoordinators()
		session.Commit()
		fmt.Println("Commit returned after ten records")
		time.Sleep(time.Second)
		asked := map[string][]int32{name: {0}}
		rows := must(admin.ListConsumerGroupOffsets(name, asked))
		fmt.Println("committed:", rows.GetBlock(name, 0).Offset)
		close(done)
		return nil
	}
	return nil
}

func main() {
	config.Version = sarama.V3_9_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Session.Timeout = 45 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 15 * time.Second
	config.Producer.Return.Successes = true
	admin = must(sarama.NewClusterAdmin(os.Args[1:2], config))
	topic := &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}
	if err := admin.CreateTopic(name, topic, false); err != nil {
		panic(err)
	}
	producer := must(sarama.NewSyncProducer(os.Args[1:2], config))
	for range 10 {
		record := &sarama.ProducerMessage{Topic: name, Value: sarama.StringEncoder("x")}
		_, _, err := producer.SendMessage(record)
		must(0, err)
	}
	group := must(sarama.NewConsumerGroup(os.Args[1:2], name, config))
	go func() {
		for err := range group.Errors() {
			fmt.Println("told to the user:", err)
		}
	}()
	go group.Consume(context.Background(), []string{name}, member{})
	<-done
}
