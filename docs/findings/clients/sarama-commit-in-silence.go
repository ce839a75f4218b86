// go run FILE BOOTSTRAP, in a module that requires IBM/sarama v1.61.1, on a cluster of two
// brokers whose offsets topic is on both (offsets.topic.replication.factor=2).
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

var name = fmt.Sprintf("silence-%d", time.Now().UnixNano())

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// moveCoordinators gives each partition of the offsets topic to its other replica.
func moveCoordinators(admin sarama.ClusterAdmin) {
	const offsets = "__consumer_offsets"
	rows := must(admin.DescribeTopics([]string{offsets}))[0].Partitions
	turned, every := make([][]int32, len(rows)), make([]int32, len(rows))
	for _, row := range rows {
		every[row.ID], turned[row.ID] = row.ID, []int32{row.Replicas[1-slices.Index(row.Replicas, row.Leader)], row.Leader}
	}
	must(0, admin.AlterPartitionReassignments(offsets, turned))
	time.Sleep(time.Second)
	must(admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{offsets: every}))
	time.Sleep(2 * time.Second)
}

type member struct{ admin sarama.ClusterAdmin }

func (member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	session.MarkMessage(<-claim.Messages(), "")
	moveCoordinators(m.admin)
	session.Commit()
	fmt.Println("Commit returned after a record")
	fmt.Println("committed:", must(m.admin.ListConsumerGroupOffsets(name, map[string][]int32{name: {0}})).GetBlock(name, 0).Offset)
	os.Exit(0)
	return nil
}

func main() {
	config, bootstrap := sarama.NewConfig(), os.Args[1:2]
	config.Version = sarama.V3_9_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Session.Timeout = 45 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 15 * time.Second
	config.Producer.Return.Successes = true
	admin := must(sarama.NewClusterAdmin(bootstrap, config))
	must(0, admin.CreateTopic(name, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false))
	record := &sarama.ProducerMessage{Topic: name, Value: sarama.StringEncoder("x")}
	must(0, must(sarama.NewSyncProducer(bootstrap, config)).SendMessages([]*sarama.ProducerMessage{record}))
	group := must(sarama.NewConsumerGroup(bootstrap, name, config))
	go group.Consume(context.Background(), []string{name}, member{admin})
	fmt.Println("error that the user gets:", <-group.Errors())
}
