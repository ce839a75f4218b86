// The driver of confluent-kafka-go, as its README's consumer polls.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const (
	pollMs      = 100
	transacting = 5 * time.Second
)

// nextGeneration is the first librdkafka with group.protocol.
const nextGeneration = 0x02040000

// The library has descriptions of codes; these are Kafka's names, of what a group may answer.
var names = map[kafka.ErrorCode]string{
	kafka.ErrOffsetOutOfRange:          "OFFSET_OUT_OF_RANGE",
	kafka.ErrUnknownTopicOrPart:        "UNKNOWN_TOPIC_OR_PARTITION",
	kafka.ErrLeaderNotAvailable:        "LEADER_NOT_AVAILABLE",
	kafka.ErrNotLeaderForPartition:     "NOT_LEADER_OR_FOLLOWER",
	kafka.ErrRequestTimedOut:           "REQUEST_TIMED_OUT",
	kafka.ErrOffsetMetadataTooLarge:    "OFFSET_METADATA_TOO_LARGE",
	kafka.ErrCoordinatorLoadInProgress: "COORDINATOR_LOAD_IN_PROGRESS",
	kafka.ErrCoordinatorNotAvailable:   "COORDINATOR_NOT_AVAILABLE",
	kafka.ErrNotCoordinator:            "NOT_COORDINATOR",
	kafka.ErrIllegalGeneration:         "ILLEGAL_GENERATION",
	kafka.ErrInconsistentGroupProtocol: "INCONSISTENT_GROUP_PROTOCOL",
	kafka.ErrInvalidGroupID:            "INVALID_GROUP_ID",
	kafka.ErrUnknownMemberID:           "UNKNOWN_MEMBER_ID",
	kafka.ErrInvalidSessionTimeout:     "INVALID_SESSION_TIMEOUT",
	kafka.ErrRebalanceInProgress:       "REBALANCE_IN_PROGRESS",
	kafka.ErrTopicAuthorizationFailed:  "TOPIC_AUTHORIZATION_FAILED",
	kafka.ErrGroupAuthorizationFailed:  "GROUP_AUTHORIZATION_FAILED",
	kafka.ErrUnsupportedVersion:        "UNSUPPORTED_VERSION",
	kafka.ErrMemberIDRequired:          "MEMBER_ID_REQUIRED",
	kafka.ErrGroupMaxSizeReached:       "GROUP_MAX_SIZE_REACHED",
	kafka.ErrFencedInstanceID:          "FENCED_INSTANCE_ID",
	kafka.ErrUnstableOffsetCommit:      "UNSTABLE_OFFSET_COMMIT",
	kafka.ErrTransport:                 "_TRANSPORT",
	kafka.ErrResolve:                   "_RESOLVE",
	kafka.ErrAllBrokersDown:            "_ALL_BROKERS_DOWN",
	kafka.ErrUnknownTopic:              "_UNKNOWN_TOPIC",
	kafka.ErrUnknownPartition:          "_UNKNOWN_PARTITION",
	kafka.ErrInvalidArg:                "_INVALID_ARG",
	kafka.ErrTimedOut:                  "_TIMED_OUT",
	kafka.ErrWaitCoord:                 "_WAIT_COORD",
	kafka.ErrUnknownGroup:              "_UNKNOWN_GROUP",
	kafka.ErrState:                     "_STATE",
	kafka.ErrNoOffset:                  "_NO_OFFSET",
	kafka.ErrAutoOffsetReset:           "_AUTO_OFFSET_RESET",
	kafka.ErrUnsupportedFeature:        "_UNSUPPORTED_FEATURE",
	kafka.ErrFatal:                     "_FATAL",
	kafka.ErrFenced:                    "_FENCED",
	kafka.ErrMaxPollExceeded:           "_MAX_POLL_EXCEEDED",
	kafka.ErrAssignmentLost:            "_ASSIGNMENT_LOST",
	kafka.ErrDestroy:                   "_DESTROY",
	kafka.ErrUnknownProtocol:           "_UNKNOWN_PROTOCOL",
}

// confluent is a consumer, which a poll or a command has alone, as in a program of one goroutine.
type confluent struct {
	user
	client  *kafka.Consumer
	started command
	gate    *gate
	mu      sync.Mutex
	closed  bool
}

func (c *confluent) start(told command) (err error) {
	c.started = told
	config := kafka.ConfigMap{
		"bootstrap.servers":             told.Bootstrap,
		"group.id":                      told.Group,
		"session.timeout.ms":            told.Session,
		"heartbeat.interval.ms":         told.Heartbeat,
		"max.poll.interval.ms":          told.MaxPoll,
		"partition.assignment.strategy": told.Assignor,
		"auto.offset.reset":             told.Reset,
		"client.id":                     told.ClientID,
		"enable.auto.commit":            told.Commits != nil,
	}
	if told.Instance != nil {
		config["group.instance.id"] = *told.Instance
	}
	if told.Rack != nil {
		config["client.rack"] = *told.Rack
	}
	if told.Commits != nil {
		config["auto.commit.interval.ms"] = *told.Commits
	}
	for name, value := range told.Settings {
		if err := config.SetKey(name, fmt.Sprint(value)); err != nil {
			return err
		}
	}
	if c.client, err = kafka.NewConsumer(&config); err != nil {
		return err
	}
	if err = c.subscribe(told.Topics); err != nil {
		return errors.Join(err, c.client.Close())
	}
	go c.poll()
	return nil
}

// rebalance is called within a poll, or a close.
func (c *confluent) rebalance(client *kafka.Consumer, event kafka.Event) error {
	switch what := event.(type) {
	case kafka.AssignedPartitions:
		c.tellPartitions("assigned", grouped(what.Partitions))
	case kafka.RevokedPartitions:
		how := "revoked"
		if client.AssignmentLost() {
			how = "lost"
		}
		c.tellPartitions(how, grouped(what.Partitions))
	}
	return nil
}

func grouped(partitions []kafka.TopicPartition) map[string][]int32 {
	numbers := map[string][]int32{}
	for _, one := range partitions {
		numbers[*one.Topic] = append(numbers[*one.Topic], one.Partition)
	}
	return numbers
}

func (c *confluent) poll() {
	for {
		c.gate.wait()
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return
		}
		c.take(c.client.Poll(pollMs))
		c.mu.Unlock()
	}
}

func (c *confluent) take(event kafka.Event) {
	switch what := event.(type) {
	case *kafka.Message:
		at := what.TopicPartition
		if at.Error != nil {
			c.tellError("Poll", errorOf(at.Error))
		} else {
			c.tellRecords(*at.Topic, at.Partition, int64(at.Offset), 1)
		}
	case kafka.Error:
		told := errorOf(what)
		c.tellError("Poll", told)
		if told.Fatal {
			c.gate.set(false)
		}
	case kafka.OffsetsCommitted: // of commits in the background
		if what.Error != nil {
			c.tellError("OffsetsCommitted", errorOf(what.Error))
		}
	}
}

func (c *confluent) namesSettings() {}

func (c *confluent) stopPolling() { c.gate.set(false) }

func (c *confluent) pollOn() { c.gate.set(true) }

func (c *confluent) commit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	partitions, err := c.client.Commit()
	for _, one := range partitions {
		if err == nil {
			err = one.Error
		}
	}
	return err
}

// commitInTransaction sends the positions to a transaction of a producer, and commits it.
func (c *confluent) commitInTransaction() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": c.started.Bootstrap,
		"client.id":         c.started.ClientID,
		"transactional.id":  c.started.Group + "-" + c.started.ClientID,
	})
	if err != nil {
		return err
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), transacting)
	defer cancel()
	if err = producer.InitTransactions(ctx); err != nil {
		return err
	}
	if err = producer.BeginTransaction(); err != nil {
		return err
	}
	if err = c.sendPositions(ctx, producer); err == nil {
		err = producer.CommitTransaction(ctx)
	}
	var known kafka.Error
	if errors.As(err, &known) && known.TxnRequiresAbort() {
		_ = producer.AbortTransaction(ctx) // the first error is the one that counts
	}
	return err
}

func (c *confluent) sendPositions(ctx context.Context, producer *kafka.Producer) error {
	partitions, err := c.client.Assignment()
	if err != nil {
		return err
	}
	if partitions, err = c.client.Position(partitions); err != nil {
		return err
	}
	metadata, err := c.client.GetConsumerGroupMetadata()
	if err != nil {
		return err
	}
	read := slices.DeleteFunc(partitions, func(one kafka.TopicPartition) bool { return one.Offset < 0 })
	return producer.SendOffsetsToTransaction(ctx, read, metadata)
}

func (c *confluent) subscribe(topics []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client.SubscribeTopics(topics, c.rebalance)
}

func (c *confluent) unsubscribe() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client.Unsubscribe()
}

func (c *confluent) pause(partitions map[string][]int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client.Pause(listed(partitions))
}

func (c *confluent) resume(partitions map[string][]int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client.Resume(listed(partitions))
}

func listed(partitions map[string][]int32) (pairs []kafka.TopicPartition) {
	for topic, numbers := range partitions {
		for _, number := range numbers {
			pairs = append(pairs, kafka.TopicPartition{Topic: &topic, Partition: number})
		}
	}
	return pairs
}

func (c *confluent) close(command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.gate.set(true)
	return c.client.Close()
}

// errorOf says of a plain error that it is not fatal: the library marks those that are.
func errorOf(err error) clientError {
	var known kafka.Error
	if !errors.As(err, &known) {
		return clientError{"UNKNOWN", true, err.Error()}
	}
	name, named := names[known.Code()]
	if !named {
		name = fmt.Sprintf("ErrorCode(%d)", int(known.Code()))
	}
	return clientError{name, known.IsFatal() || known.Code() == kafka.ErrFatal, known.Error()}
}

func main() {
	number, linked := kafka.LibraryVersion()
	features := []string{
		"static", "cooperative", "auto-commit", "manual-commit", "pause", "seek", "transactions",
	}
	if number >= nextGeneration {
		features = append(features, "next-generation")
	}
	drive(fields{
		"client":    "confluent-kafka-go",
		"version":   versionOf("github.com/confluentinc/confluent-kafka-go/v2") + ", librdkafka " + linked,
		"features":  features,
		"assignors": []string{"range", "roundrobin", "cooperative-sticky"},
	}, func(u user) consumer {
		return &confluent{user: u, gate: newGate()}
	}, errorOf)
}
