package main

import (
	"encoding/json"
	"slices"
)

const (
	unknownServerError, none = -1, 0
	unknownTopic             = 3
	illegalGeneration        = 22
	inconsistentProtocol     = 23
	invalidGroupID           = 24
	unknownMemberID          = 25
	invalidSessionTimeout    = 26
	rebalanceInProgress      = 27
	memberIDRequired         = 79
	groupMaxSizeReached      = 81
	fencedInstanceID         = 82

	newMemberMs = 300_000 // who has never completed a join has this long

	initialDelay = "group.initial.rebalance.delay.ms"
	minSession   = "group.min.session.timeout.ms"
	maxSession   = "group.max.session.timeout.ms"
	maxSize      = "group.max.size"
)

type settings map[string]*int

func defaults() settings {
	ms := func(value int) *int { return &value }
	return settings{initialDelay: ms(3000), minSession: ms(6000), maxSession: ms(1_800_000), maxSize: nil}
}

type Request struct {
	ID, Connection, ClientID, API string
	Version                       int
	Body                          json.RawMessage
}

// body is all that the requests can say; encoding/json reads base64 into []byte by itself.
type body struct {
	GroupID, MemberID, ProtocolType string
	GroupInstanceID, ProtocolName   *string
	SessionTimeoutMs, GenerationID  int
	RebalanceTimeoutMs              *int
	Protocols                       []protocol
	Assignments                     []struct {
		MemberID   string
		Assignment []byte
	}
	Members                   []leaving
	GenerationIDOrMemberEpoch int
	Topics                    []topic
}

type protocol struct {
	Name     string
	Metadata []byte
}

type leaving struct {
	MemberID        string  `json:"memberId"`
	GroupInstanceID *string `json:"groupInstanceId"`
}

type topic struct {
	Name             string
	PartitionIndexes []int
	Partitions       []struct {
		PartitionIndex, CommittedOffset int
		CommittedLeaderEpoch            *int
		CommittedMetadata               *string
	}
}

// ask is a request that is open.
type ask struct {
	*Request
	body
}

type timer struct {
	at   int
	fire func()
}

type place struct {
	group, topic string
	partition    int
}

type offset struct {
	offset, epoch int
	metadata      *string
}

type member struct {
	id                 string
	instance           *string
	session, rebalance int
	protocols          []protocol
	assignment         []byte
	join, sync         *ask // parked
	isNew, owesSync    bool
	timer              *timer
}

type state int

const (
	empty state = iota
	preparing
	completing
	stable
)

type group struct {
	state                          state
	generation                     int
	protocolType, protocol, leader string
	members                        []*member // in the order in which they came
	instances                      map[string]*member
	pending                        map[string]*timer
	timer, syncTimer               *timer // the end of the join phase; the last moment to sync
	delayLeft                      int    // of the initial delay, behind what runs now
	delayed, cameMeanwhile         bool
}

// Coordinator holds all groups.  Nothing happens but in Handle and Advance.
type Coordinator struct {
	settings settings
	now      int
	nextID   int
	groups   map[string]*group
	offsets  map[place]offset
	timers   []*timer
	asks     map[string]*ask // by request id
	answers  []object
}

func newCoordinator(s settings) *Coordinator {
	return &Coordinator{
		settings: s, groups: map[string]*group{}, offsets: map[place]offset{}, asks: map[string]*ask{},
	}
}

// --- Time and answers.

func (c *Coordinator) after(ms int, fire func()) *timer {
	t := &timer{c.now + ms, fire}
	c.timers = append(c.timers, t)
	return t
}

func (c *Coordinator) stop(t *timer) {
	c.timers = slices.DeleteFunc(c.timers, func(other *timer) bool { return other == t })
}

// Advance fires each timer at its own deadline, one at the very end included.
func (c *Coordinator) Advance(ms int) {
	end := c.now + ms
	for len(c.timers) > 0 {
		next := slices.MinFunc(c.timers, func(a, b *timer) int { return a.at - b.at })
		if next.at > end {
			break
		}
		c.stop(next)
		c.now = next.at
		next.fire()
	}
	c.now = end
}

// answer ends a request; one whose connection was dropped has no answer any more.
func (c *Coordinator) answer(to *ask, reply object) {
	if c.asks[to.ID] == to {
		delete(c.asks, to.ID)
		c.answers = append(c.answers, object{"id": to.ID, "at_ms": c.now, "body": reply})
	}
}

func (c *Coordinator) taken() []object {
	answers := append([]object{}, c.answers...)
	c.answers = nil
	return answers
}

func (c *Coordinator) open() []string {
	ids := []string{}
	for id := range c.asks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Disconnect forgets who is to be answered; the members stay as they are.
func (c *Coordinator) Disconnect(connection string) []string {
	ids := slices.DeleteFunc(c.open(), func(id string) bool { return c.asks[id].Connection != connection })
	for _, id := range ids {
		delete(c.asks, id)
	}
	return ids
}

func (c *Coordinator) Handle(request *Request) error {
	asked := &ask{Request: request}
	if err := json.Unmarshal(request.Body, &asked.body); err != nil {
		return err
	}
	c.asks[request.ID] = asked
	map[string]func(*ask){
		"JoinGroup": c.joinGroup, "SyncGroup": c.syncGroup, "Heartbeat": c.heartbeat,
		"LeaveGroup": c.leaveGroup, "OffsetCommit": c.offsetCommit, "OffsetFetch": c.offsetFetch,
	}[request.API](asked)
	return nil
}

// A field is there exactly when the version of the request has it.

func (c *Coordinator) answerJoin(to *ask, code int, memberID string, fields object) {
	reply := object{
		"errorCode": code, "generationId": -1, "leader": "", "memberId": memberID, "members": []object{},
		"protocolType": nil, "protocolName": nil, "skipAssignment": false,
	}
	for key, value := range fields {
		reply[key] = value
	}
	if to.Version < 9 {
		delete(reply, "skipAssignment")
	}
	if to.Version < 7 {
		delete(reply, "protocolType")
		if reply["protocolName"] == nil {
			reply["protocolName"] = ""
		}
	}
	c.answer(to, reply)
}

func (c *Coordinator) refuseJoin(to *ask, code int) { c.answerJoin(to, code, to.MemberID, nil) }

func (c *Coordinator) answerSync(to *ask, code int, g *group, assignment []byte) {
	reply := object{"errorCode": code, "assignment": append([]byte{}, assignment...)}
	if to.Version >= 5 {
		reply["protocolType"], reply["protocolName"] = nil, nil
		if code == none {
			reply["protocolType"], reply["protocolName"] = g.protocolType, g.protocol
		}
	}
	c.answer(to, reply)
}

func joined(g *group, leader string, roster []object) object {
	return object{
		"generationId": g.generation, "protocolType": g.protocolType, "protocolName": g.protocol,
		"leader": leader, "members": roster,
	}
}

// roster is what the leader is told of the members.
func roster(g *group, version int) []object {
	rows := []object{}
	for _, m := range g.members {
		row := object{"memberId": m.id, "groupInstanceId": m.instance, "metadata": m.metadata(g.protocol)}
		if version < 5 {
			delete(row, "groupInstanceId")
		}
		rows = append(rows, row)
	}
	return rows
}
