// The driver of franz-go (kgo), as its README's consumer polls.
package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

const (
	closing     = 100 * time.Millisecond
	transacting = 5 * time.Second
)

type franz struct {
	user
	client  *kgo.Client
	session *kgo.GroupTransactSession // of a user that commits in transactions
	topics  []string
	gate    *gate
	busy    *gate // closed while the user works: a handler of revoked partitions doesn't return
	ended   chan struct{}

	commitsOnRevoke bool
}

func (f *franz) start(c command) (err error) {
	balancer, known := balancers[c.Assignor]
	if !known {
		return unsupported("there is no balancer " + c.Assignor)
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.Bootstrap, ",")...),
		kgo.ConsumerGroup(c.Group),
		kgo.SessionTimeout(milliseconds(c.Session)),
		kgo.HeartbeatInterval(milliseconds(c.Heartbeat)),
		kgo.RebalanceTimeout(milliseconds(c.MaxPoll)),
		kgo.Balancers(balancer()),
		kgo.ClientID(c.ClientID),
		kgo.WithHooks(f),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelWarn, nil)),
		kgo.OnPartitionsAssigned(f.listener("assigned")),
		kgo.OnPartitionsRevoked(f.revoked),
		kgo.OnPartitionsLost(f.listener("lost")),
	}
	if c.Pattern != nil {
		opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics(*c.Pattern))
	} else {
		opts = append(opts, kgo.ConsumeTopics(c.Topics...))
	}
	if c.Reset == "earliest" {
		opts = append(opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	} else {
		opts = append(opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	}
	if c.Instance != nil {
		opts = append(opts, kgo.InstanceID(*c.Instance))
	}
	if c.Rack != nil {
		opts = append(opts, kgo.Rack(*c.Rack))
	}
	if c.Commits != nil {
		opts = append(opts, kgo.AutoCommitInterval(milliseconds(*c.Commits)))
	} else {
		opts = append(opts, kgo.DisableAutoCommit())
	}
	if c.Age != nil {
		opts = append(opts, kgo.MetadataMaxAge(milliseconds(*c.Age)), kgo.MetadataMinAge(milliseconds(*c.Age/2)))
	}
	f.commitsOnRevoke = c.OnRevoke
	f.topics = c.Topics
	if c.Transacts {
		opts = append(opts, kgo.TransactionalID(c.Group+"-"+c.ClientID), kgo.RequireStableFetchOffsets())
		if f.session, err = kgo.NewGroupTransactSession(opts...); err == nil {
			f.client = f.session.Client()
		}
	} else {
		f.client, err = kgo.NewClient(opts...)
	}
	if err == nil {
		go f.poll()
	}
	return err
}

func (f *franz) listener(event string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		f.tellPartitions(event, partitions)
	}
}

func (f *franz) revoked(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	f.tellPartitions("revoked", partitions)
	if len(partitions) > 0 {
		f.busy.wait()
	}
	if !f.commitsOnRevoke {
		return
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		f.tellError("commit", errorOf(err))
	}
}

// OnGroupManageError is a hook of the library.
func (f *franz) OnGroupManageError(err error) { f.tellError("OnGroupManageError", errorOf(err)) }

func (f *franz) poll() {
	defer close(f.ended)
	for {
		ctx, cancel := f.gate.whileOpen()
		for ctx.Err() == nil {
			fetches := f.client.PollFetches(ctx)
			if fetches.IsClientClosed() {
				cancel()
				return
			}
			f.take(fetches)
		}
		cancel()
	}
}

func (f *franz) take(fetches kgo.Fetches) {
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.Canceled) {
			told := errorOf(err)
			f.tellError("PollFetches", told)
			if told.Fatal {
				f.gate.set(false) // the README panics here, also at what passes
			}
		}
	})
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if count := len(p.Records); count > 0 {
			f.tellRecords(p.Topic, p.Partition, p.Records[0].Offset, count)
		}
	})
}

func (f *franz) stopPolling() {
	f.gate.set(false)
	f.busy.set(false)
}

func (f *franz) pollOn() {
	f.gate.set(true)
	f.busy.set(true)
}

func (f *franz) commit() error { return f.client.CommitUncommittedOffsets(context.Background()) }

func (f *franz) commitInTransaction() error {
	if f.session == nil {
		return unsupported("a client is made for transactions, or has none")
	}
	ctx, cancel := context.WithTimeout(context.Background(), transacting)
	defer cancel()
	if err := f.session.Begin(); err != nil {
		return err
	}
	committed, err := f.session.End(ctx, kgo.TryCommit)
	if err == nil && !committed {
		err = errors.New("the session aborted the transaction")
	}
	return err
}

func (f *franz) subscribe(topics []string) error {
	var others []string
	for _, topic := range f.topics {
		if !slices.Contains(topics, topic) {
			others = append(others, topic)
		}
	}
	f.purge(others)
	f.client.AddConsumeTopics(topics...)
	f.topics = topics
	return nil
}

func (f *franz) unsubscribe() error {
	f.purge(f.topics)
	f.topics = nil
	return nil
}

// purge gives up topics; old releases do so for producing, too.
func (f *franz) purge(topics []string) {
	consumer, ok := any(f.client).(interface{ PurgeTopicsFromConsuming(...string) })
	if ok {
		consumer.PurgeTopicsFromConsuming(topics...)
	} else {
		f.client.PurgeTopicsFromClient(topics...)
	}
}

func (f *franz) pause(partitions map[string][]int32) error {
	f.client.PauseFetchPartitions(partitions)
	return nil
}

func (f *franz) resume(partitions map[string][]int32) error {
	f.client.ResumeFetchPartitions(partitions)
	return nil
}

func (f *franz) close(command) error {
	// Close waits for a handler that runs, which ends when the closing has begun.
	time.AfterFunc(closing, func() { f.busy.set(true) })
	f.client.Close()
	f.gate.set(true)
	<-f.ended
	return nil
}

func errorOf(err error) clientError {
	var known *kerr.Error
	if errors.As(err, &known) {
		return clientError{known.Message, !known.Retriable, err.Error()}
	}
	return clientError{"UNKNOWN", true, err.Error()}
}

func main() {
	drive(fields{
		"client":  "franz-go",
		"version": versionOf("github.com/twmb/franz-go"),
		"features": []string{
			"static", "cooperative", "auto-commit", "manual-commit", "pause", "seek",
			"commit-on-revoke", "metadata-age", "transactions", "pattern", "close-twice",
		},
		"assignors": []string{"range", "roundrobin", "sticky", "cooperative-sticky"},
	}, func(u user) consumer {
		return &franz{user: u, gate: newGate(), busy: newGate(), ended: make(chan struct{})}
	}, errorOf)
}
