// The driver of kafka-go, as its README reads in a consumer group.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/segmentio/kafka-go"
)

var balancers = map[string]kafka.GroupBalancer{
	"range":      kafka.RangeGroupBalancer{},
	"roundrobin": kafka.RoundRobinGroupBalancer{},
}

type reading struct {
	user
	reader  *kafka.Reader
	gate    *gate
	ended   chan struct{}
	commits bool // by itself
	mu      sync.Mutex
	last    map[string]kafka.Message // of each partition, the last record that was read
}

func (r *reading) start(c command) error {
	balancer, known := balancers[c.Assignor]
	switch {
	case !known:
		return unsupported("there is no balancer " + c.Assignor)
	case c.Instance != nil:
		return unsupported("a Reader has no group instance id")
	case c.Rack != nil:
		return unsupported("a Reader has no rack")
	}
	config := kafka.ReaderConfig{
		Brokers:           strings.Split(c.Bootstrap, ","),
		GroupID:           c.Group,
		GroupTopics:       c.Topics,
		SessionTimeout:    milliseconds(c.Session),
		HeartbeatInterval: milliseconds(c.Heartbeat),
		RebalanceTimeout:  milliseconds(c.MaxPoll),
		GroupBalancers:    []kafka.GroupBalancer{balancer},
		StartOffset:       kafka.LastOffset,
		Dialer:            &kafka.Dialer{ClientID: c.ClientID, Timeout: milliseconds(10_000), DualStack: true},
		ErrorLogger:       kafka.LoggerFunc(r.log),
	}
	if c.Reset == "earliest" {
		config.StartOffset = kafka.FirstOffset
	}
	if r.commits = c.Commits != nil; r.commits {
		config.CommitInterval = milliseconds(*c.Commits)
	}
	if err := config.Validate(); err != nil {
		return err
	}
	r.reader = kafka.NewReader(config)
	go r.read()
	return nil
}

func (r *reading) log(format string, args ...any) {
	r.tell("log", fields{"level": "error", "message": fmt.Sprintf(format, args...)})
}

func (r *reading) read() {
	defer close(r.ended)
	for {
		ctx, cancel := r.gate.whileOpen()
		for ctx.Err() == nil {
			message, err := r.next(ctx)
			if errors.Is(err, io.EOF) {
				cancel()
				return
			}
			if err != nil && ctx.Err() == nil {
				reported := errorOf(err)
				r.tellError("ReadMessage", reported)
				if reported.Fatal { // after one that is temporary the Reader goes on
					r.gate.set(false) // the README breaks here
				}
			}
			if err == nil {
				r.mu.Lock()
				r.last[fmt.Sprint(message.Topic, message.Partition)] = message
				r.mu.Unlock()
				r.tellRecords(message.Topic, int32(message.Partition), message.Offset, 1)
			}
		}
		cancel()
	}
}

// next reads a message, and has it committed where the reader commits by itself.
func (r *reading) next(ctx context.Context) (kafka.Message, error) {
	if r.commits {
		return r.reader.ReadMessage(ctx)
	}
	return r.reader.FetchMessage(ctx)
}

func (r *reading) stopPolling() { r.gate.set(false) }

func (r *reading) pollOn() { r.gate.set(true) }

func (r *reading) commit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var messages []kafka.Message
	for _, message := range r.last {
		messages = append(messages, message)
	}
	return r.reader.CommitMessages(context.Background(), messages...)
}

func (r *reading) subscribe([]string) error {
	return unsupported("a Reader keeps its topics")
}

func (r *reading) unsubscribe() error {
	return unsupported("a Reader keeps its topics")
}

func (r *reading) close(command) error {
	err := r.reader.Close()
	r.gate.set(true)
	<-r.ended
	return err
}

func errorOf(err error) clientError {
	var known kafka.Error
	if errors.As(err, &known) {
		code := strings.ToUpper(strings.ReplaceAll(known.Title(), " ", "_"))
		return clientError{code, !known.Temporary(), err.Error()}
	}
	return clientError{"UNKNOWN", true, err.Error()}
}

func main() {
	drive(fields{
		"client":    "kafka-go",
		"version":   versionOf("github.com/segmentio/kafka-go"),
		"features":  []string{"auto-commit", "manual-commit"},
		"assignors": []string{"range", "roundrobin"},
	}, func(u user) consumer {
		return &reading{
			user: u, gate: newGate(), ended: make(chan struct{}), last: map[string]kafka.Message{},
		}
	}, errorOf)
}
