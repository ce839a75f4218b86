// Shared by drivers in Go: the lines of client driver protocol 1, and a consumer's user.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// command is a command to the driver.
type command struct {
	ID        int            `json:"id"`
	Cmd       string         `json:"cmd"`
	Consumer  string         `json:"consumer"`
	Topics    []string       `json:"topics"`
	TimeoutMs int            `json:"timeout_ms"`
	Bootstrap string         `json:"bootstrap"`
	Group     string         `json:"group"`
	Instance  *string        `json:"instance"`
	Session   int            `json:"session_timeout_ms"`
	Heartbeat int            `json:"heartbeat_interval_ms"`
	MaxPoll   int            `json:"max_poll_interval_ms"`
	Assignor  string         `json:"assignor"`
	Reset     string         `json:"auto_offset_reset"`
	ClientID  string         `json:"client_id"`
	Rack      *string        `json:"rack"`
	Commits   *int           `json:"auto_commit_ms"`
	Settings  map[string]any `json:"settings"`
	OnRevoke  bool           `json:"commit_on_revoke"`
	Age       *int           `json:"metadata_max_age_ms"`
	Transacts bool           `json:"transactions"`
	Pattern   *string        `json:"pattern"`
	Twice     bool           `json:"twice"`
	Parts     [][]any        `json:"partitions"`
}

// fields is an object on a line.
type fields map[string]any

// consumer is a consumer of a library.  The methods are called one at a time.
type consumer interface {
	start(command) error
	stopPolling()
	pollOn()
	commit() error
	subscribe(topics []string) error
	unsubscribe() error
	close(command) error
}

// pausing is a consumer that can pause partitions.
type pausing interface {
	pause(partitions map[string][]int32) error
	resume(partitions map[string][]int32) error
}

// configurable is a consumer whose library has names for its settings.
type configurable interface{ namesSettings() }

// transactional is a consumer whose library commits offsets in transactions.
type transactional interface{ commitInTransaction() error }

// unsupported says why the library has no such thing.
type unsupported string

func (why unsupported) Error() string { return string(why) }

// clientError is an error as the library tells its user.
type clientError struct {
	Code    string `json:"code"`
	Fatal   bool   `json:"fatal"`
	Message string `json:"message"`
}

var (
	output  = bufio.NewWriter(os.Stdout)
	writing sync.Mutex
	begun   = time.Now()
)

func say(object fields) {
	line, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	writing.Lock()
	defer writing.Unlock()
	output.Write(append(line, '\n'))
	output.Flush()
}

// user writes the events of one consumer's user.
type user struct{ name string }

func (u user) tell(event string, more fields) {
	object := fields{"event": event, "consumer": u.name, "at_ms": time.Since(begun).Milliseconds()}
	for key, value := range more {
		object[key] = value
	}
	say(object)
}

func (u user) tellPartitions(event string, partitions map[string][]int32) {
	pairs := [][]any{}
	for topic, numbers := range partitions {
		for _, number := range numbers {
			pairs = append(pairs, []any{topic, number})
		}
	}
	u.tell(event, fields{"partitions": pairs})
}

func (u user) tellRecords(topic string, partition int32, first int64, count int) {
	u.tell("records", fields{"partition": []any{topic, partition}, "first": first, "count": count})
}

func (u user) tellError(where string, err clientError) {
	u.tell("error", fields{
		"where": where, "code": err.Code, "fatal": err.Fatal, "message": err.Message,
	})
}

// gate is closed while the user does not poll.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // closed while the gate is closed
	opened chan struct{} // closed while the gate is open
}

func newGate() *gate {
	open := make(chan struct{})
	close(open)
	return &gate{closed: make(chan struct{}), opened: open}
}

func (g *gate) set(isOpen bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
		if !isOpen {
			close(g.closed)
			g.opened = make(chan struct{})
		}
	default:
		if isOpen {
			close(g.opened)
			g.closed = make(chan struct{})
		}
	}
}

// whenClosed returns a channel that ends when the gate closes.
func (g *gate) whenClosed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// whileOpen waits until the gate is open, and returns a context that ends when it closes.
func (g *gate) whileOpen() (context.Context, context.CancelFunc) {
	g.wait()
	ctx, cancel := context.WithCancel(context.Background())
	closed := g.whenClosed()
	go func() {
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// wait returns when the gate is open.
func (g *gate) wait() {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	<-opened
}

// versionOf is the version of a library that was linked.
func versionOf(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == path {
				return dep.Version
			}
		}
	}
	return "unknown"
}

func milliseconds(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

// obey carries out the commands of one consumer, one at a time, until it is closed.
func obey(commands <-chan command, client consumer, errorOf func(error) clientError) {
	started := false
	_, isConfigurable := client.(configurable)
	for c := range commands {
		at := time.Now()
		var err error
		done := fields{"id": c.ID, "ok": true}
		switch {
		case c.Cmd == "start" && len(c.Settings) > 0 && !isConfigurable:
			err = unsupported("its settings have no names")
		case c.Cmd == "start":
			err = client.start(c)
			started = err == nil
		case !started:
			err = unsupported("there is no consumer")
		case c.Cmd == "stop-polling":
			client.stopPolling()
		case c.Cmd == "poll-on":
			client.pollOn()
		case c.Cmd == "commit":
			err = client.commit()
		case c.Cmd == "commit-in-transaction":
			if member, transacts := client.(transactional); transacts {
				err = member.commitInTransaction()
			} else {
				err = unsupported("it has no transactions")
			}
		case c.Cmd == "subscribe":
			err = client.subscribe(c.Topics)
		case c.Cmd == "unsubscribe":
			err = client.unsubscribe()
		case c.Cmd == "pause" || c.Cmd == "resume":
			err = pause(client, c)
		case c.Cmd == "close":
			err = client.close(c)
			if c.Twice && err == nil {
				err = client.close(c)
			}
			done["took_ms"] = time.Since(at).Milliseconds()
		default:
			err = unsupported("there is no command " + c.Cmd)
		}
		if why, ok := err.(unsupported); ok {
			done = fields{"id": c.ID, "unsupported": string(why)}
		} else if err != nil {
			done = fields{"id": c.ID, "error": errorOf(err)}
		}
		say(done)
		if c.Cmd == "close" {
			return
		}
	}
}

// pause pauses or resumes the partitions of a command.
func pause(client consumer, c command) error {
	able, ok := client.(pausing)
	if !ok {
		return unsupported("the driver pauses nothing")
	}
	partitions := map[string][]int32{}
	for _, pair := range c.Parts {
		topic, number := pair[0].(string), int32(pair[1].(float64))
		partitions[topic] = append(partitions[topic], number)
	}
	if c.Cmd == "pause" {
		return able.pause(partitions)
	}
	return able.resume(partitions)
}

// drive reads commands until `bye` or the end of stdin.
func drive(introduction fields, newConsumer func(user) consumer, errorOf func(error) clientError) {
	consumers := map[string]chan command{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		commands, known := consumers[c.Consumer]
		switch {
		case c.Cmd == "hello":
			hello := fields{"id": c.ID, "protocol": 1, "language": "go"}
			for key, value := range introduction {
				hello[key] = value
			}
			say(hello)
		case c.Cmd == "bye":
			say(fields{"id": c.ID, "ok": true})
			return // consumers that are open are left as a crash would leave them
		case c.Cmd == "start":
			commands = make(chan command, 100)
			consumers[c.Consumer] = commands
			commands <- c
			go obey(commands, newConsumer(user{c.Consumer}), errorOf)
		case !known:
			say(fields{"id": c.ID, "unsupported": "there is no consumer for " + c.Cmd})
		default:
			if c.Cmd == "close" {
				delete(consumers, c.Consumer)
			}
			commands <- c
		}
	}
}
