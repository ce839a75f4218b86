// The driver of sarama, as its example of a consumer group consumes.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/IBM/sarama"
)

const cooperative = "cooperative-sticky"

// strategies has those of all releases; a file beside this one adds what only newer ones have.
var strategies = map[string]func() sarama.BalanceStrategy{
	"range":      sarama.NewBalanceStrategyRange,
	"roundrobin": sarama.NewBalanceStrategyRoundRobin,
	"sticky":     sarama.NewBalanceStrategySticky,
}

// transact commits what was read in a transaction; nil where a release takes no group metadata.
var transact func(*member, sarama.ConsumerGroupSession, map[string]map[int32]int64) error

// The library has no names for codes; these are Kafka's, of what a group may answer.
var names = map[sarama.KError]string{
	sarama.ErrOffsetOutOfRange:                "OFFSET_OUT_OF_RANGE",
	sarama.ErrUnknownTopicOrPartition:         "UNKNOWN_TOPIC_OR_PARTITION",
	sarama.ErrLeaderNotAvailable:              "LEADER_NOT_AVAILABLE",
	sarama.ErrNotLeaderForPartition:           "NOT_LEADER_OR_FOLLOWER",
	sarama.ErrRequestTimedOut:                 "REQUEST_TIMED_OUT",
	sarama.ErrOffsetsLoadInProgress:           "COORDINATOR_LOAD_IN_PROGRESS",
	sarama.ErrConsumerCoordinatorNotAvailable: "COORDINATOR_NOT_AVAILABLE",
	sarama.ErrNotCoordinatorForConsumer:       "NOT_COORDINATOR",
	sarama.ErrIllegalGeneration:               "ILLEGAL_GENERATION",
	sarama.ErrInconsistentGroupProtocol:       "INCONSISTENT_GROUP_PROTOCOL",
	sarama.ErrInvalidGroupId:                  "INVALID_GROUP_ID",
	sarama.ErrUnknownMemberId:                 "UNKNOWN_MEMBER_ID",
	sarama.ErrInvalidSessionTimeout:           "INVALID_SESSION_TIMEOUT",
	sarama.ErrRebalanceInProgress:             "REBALANCE_IN_PROGRESS",
	sarama.ErrGroupAuthorizationFailed:        "GROUP_AUTHORIZATION_FAILED",
	sarama.ErrUnsupportedVersion:              "UNSUPPORTED_VERSION",
	sarama.ErrMemberIdRequired:                "MEMBER_ID_REQUIRED",
	sarama.ErrGroupMaxSizeReached:             "GROUP_MAX_SIZE_REACHED",
	sarama.ErrFencedInstancedId:               "FENCED_INSTANCE_ID",
}

type member struct {
	user
	group   sarama.ConsumerGroup
	gate    *gate
	ended   chan struct{}
	mu      sync.Mutex
	topics  []string
	cancel  context.CancelFunc
	session sarama.ConsumerGroupSession
	owned   map[string]map[int32]bool
	read    map[string]map[int32]int64 // the next offset of each partition of the session
	started command
}

func (m *member) start(c command) (err error) {
	strategy, known := strategies[c.Assignor]
	if !known {
		return unsupported("there is no strategy " + c.Assignor)
	}
	config := sarama.NewConfig()
	if !config.Version.IsAtLeast(sarama.V2_3_0_0) { // an old default, which refuses instance ids
		config.Version = sarama.MaxVersion
	}
	config.ClientID = c.ClientID
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Session.Timeout = milliseconds(c.Session)
	config.Consumer.Group.Heartbeat.Interval = milliseconds(c.Heartbeat)
	config.Consumer.Group.Rebalance.Timeout = milliseconds(c.MaxPoll)
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy()}
	config.Consumer.Offsets.AutoCommit.Enable = c.Commits != nil
	if c.Commits != nil {
		config.Consumer.Offsets.AutoCommit.Interval = milliseconds(*c.Commits)
	}
	if c.Reset == "earliest" {
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
	}
	if c.Instance != nil {
		config.Consumer.Group.InstanceId = *c.Instance
	}
	if c.Rack != nil {
		config.RackID = *c.Rack
	}
	if c.Age != nil {
		config.Metadata.RefreshFrequency = milliseconds(*c.Age)
	}
	m.group, err = sarama.NewConsumerGroup(strings.Split(c.Bootstrap, ","), c.Group, config)
	if err != nil {
		return err
	}
	m.topics, m.started = c.Topics, c
	go m.tellErrors()
	go m.consume()
	return nil
}

func (m *member) tellErrors() {
	for err := range m.group.Errors() {
		reported := errorOf(err)
		reported.Fatal = false // the group goes on
		m.tellError("Errors", reported)
	}
}

func (m *member) consume() {
	defer close(m.ended)
	for {
		m.gate.wait()
		ctx, cancel := context.WithCancel(context.Background())
		m.mu.Lock()
		topics := m.topics
		m.cancel = cancel
		m.mu.Unlock()
		err := m.group.Consume(ctx, topics, m)
		cancel()
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return
		}
		if err != nil {
			m.tellError("Consume", errorOf(err))
			m.gate.set(false) // the example panics here
		}
	}
}

// Setup is called at the start of a session.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session, m.owned, m.read = session, map[string]map[int32]bool{}, map[string]map[int32]int64{}
	for topic, partitions := range session.Claims() {
		m.owned[topic], m.read[topic] = map[int32]bool{}, map[int32]int64{}
		for _, partition := range partitions {
			m.owned[topic][partition] = true
		}
	}
	m.tellPartitions("assigned", session.Claims())
	return nil
}

// Cleanup is called at the end of a session.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := map[string][]int32{}
	for topic, partitions := range m.owned {
		for partition := range partitions {
			left[topic] = append(left[topic], partition)
		}
	}
	m.session, m.owned, m.read = nil, nil, nil
	m.tellPartitions("revoked", left)
	return nil
}

// own tells of a partition that came or went in a session, as with a cooperative strategy.
func (m *member) own(event, topic string, partition int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owns := event == "assigned"
	if m.owned == nil || m.owned[topic][partition] == owns {
		return
	}
	if m.owned[topic] == nil {
		m.owned[topic] = map[int32]bool{}
	}
	if owns {
		m.owned[topic][partition] = true
	} else {
		delete(m.owned[topic], partition)
	}
	m.tellPartitions(event, map[string][]int32{topic: {partition}})
}

// ConsumeClaim gets the messages of a partition.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	m.own("assigned", claim.Topic(), claim.Partition())
	for {
		select {
		case <-m.gate.whenClosed():
			m.gate.wait()
		case message, ok := <-claim.Messages():
			if !ok {
				if session.Context().Err() == nil {
					m.own("revoked", claim.Topic(), claim.Partition())
				}
				return nil
			}
			m.tellRecords(message.Topic, message.Partition, message.Offset, 1)
			session.MarkMessage(message, "")
			m.note(message)
		case <-session.Context().Done():
			return nil
		}
	}
}

// note keeps the next offset of a partition, for a transaction.
func (m *member) note(message *sarama.ConsumerMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read == nil { // the session is over
		return
	}
	if m.read[message.Topic] == nil {
		m.read[message.Topic] = map[int32]int64{}
	}
	m.read[message.Topic][message.Partition] = message.Offset + 1
}

func (m *member) commitInTransaction() error {
	if transact == nil {
		return unsupported("a producer takes no group metadata")
	}
	m.mu.Lock()
	session, read := m.session, map[string]map[int32]int64{}
	for topic, offsets := range m.read {
		read[topic] = maps.Clone(offsets)
	}
	m.mu.Unlock()
	if session == nil {
		return errors.New("there is no session")
	}
	return transact(m, session, read)
}

func (m *member) stopPolling() { m.gate.set(false) }

func (m *member) pollOn() { m.gate.set(true) }

func (m *member) commit() error {
	m.mu.Lock()
	session := m.session
	m.mu.Unlock()
	if session == nil {
		return errors.New("there is no session")
	}
	session.Commit()
	return nil
}

func (m *member) subscribe(topics []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.topics = topics
	m.cancel()
	return nil
}

func (m *member) unsubscribe() error {
	return unsupported("a ConsumerGroup can't unsubscribe; it is given topics, or closed")
}

func (m *member) pause(partitions map[string][]int32) error {
	m.group.Pause(partitions)
	return nil
}

func (m *member) resume(partitions map[string][]int32) error {
	m.group.Resume(partitions)
	return nil
}

func (m *member) close(command) error {
	err := m.group.Close()
	m.gate.set(true)
	<-m.ended
	return err
}

func errorOf(err error) clientError {
	var code sarama.KError
	if !errors.As(err, &code) {
		return clientError{"UNKNOWN", true, err.Error()}
	}
	if name, known := names[code]; known {
		return clientError{name, true, err.Error()}
	}
	return clientError{fmt.Sprintf("KError(%d)", int16(code)), true, err.Error()}
}

func main() {
	sarama.Logger = log.New(os.Stderr, "", log.LstdFlags)
	features := []string{"static", "auto-commit", "manual-commit", "pause", "seek", "metadata-age"}
	if transact != nil {
		features = append(features, "transactions")
	}
	assignors := []string{"range", "roundrobin", "sticky"}
	if _, has := strategies[cooperative]; has {
		features = append(features, "cooperative")
		assignors = append(assignors, cooperative)
	}
	drive(fields{
		"client":   "sarama",
		"version":  versionOf("github.com/IBM/sarama"),
		"features": features, "assignors": assignors,
	}, func(u user) consumer {
		return &member{user: u, gate: newGate(), ended: make(chan struct{})}
	}, errorOf)
}
