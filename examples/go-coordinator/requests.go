package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The requests: checks in the protocol's order.

func (c *Coordinator) joinGroup(asked *ask) {
	if asked.GroupID == "" {
		c.refuseJoin(asked, invalidGroupID)
		return
	}
	if asked.SessionTimeoutMs < *c.settings[minSession] || asked.SessionTimeoutMs > *c.settings[maxSession] {
		c.refuseJoin(asked, invalidSessionTimeout)
		return
	}
	g := c.groups[asked.GroupID]
	if g == nil {
		if asked.MemberID != "" {
			c.refuseJoin(asked, unknownMemberID)
			return
		}
		g = newGroup()
		c.groups[asked.GroupID] = g
	}
	instance := asked.GroupInstanceID
	caller := g.member(asked.MemberID)
	if asked.MemberID == "" && instance != nil {
		caller = g.instances[*instance]
	}
	if c.isFull(g, caller) {
		c.answerJoin(asked, groupMaxSizeReached, "", nil)
		if _, isPending := g.pending[asked.MemberID]; isPending {
			c.forgetPending(g, asked.MemberID)
		} else if m := g.member(asked.MemberID); m != nil {
			c.remove(g, m)
		}
		return
	}
	if !g.fits(asked) {
		c.refuseJoin(asked, inconsistentProtocol)
		return
	}
	_, isPending := g.pending[asked.MemberID]
	switch {
	case asked.MemberID == "" && instance != nil && caller != nil:
		c.replace(g, caller, asked)
	case asked.MemberID == "" && instance != nil:
		c.add(g, c.newID(*instance), asked)
	case asked.MemberID == "" && asked.Version >= 4:
		id := c.newID(asked.ClientID)
		g.pending[id] = c.after(asked.SessionTimeoutMs, func() { c.forgetPending(g, id) })
		c.answerJoin(asked, memberIDRequired, id, nil)
	case asked.MemberID == "":
		c.add(g, c.newID(asked.ClientID), asked)
	case isPending && instance != nil:
		c.answerJoin(asked, unknownServerError, "", nil)
	case isPending:
		c.stop(g.pending[asked.MemberID])
		delete(g.pending, asked.MemberID)
		c.add(g, asked.MemberID, asked)
	default:
		if code := g.validate(asked.MemberID, instance); code != none {
			c.refuseJoin(asked, code)
			return
		}
		c.rejoin(g, caller, asked)
	}
}

func (c *Coordinator) newID(prefix string) string {
	c.nextID++
	return fmt.Sprintf("%s-%d", prefix, c.nextID)
}

func (c *Coordinator) isFull(g *group, caller *member) bool {
	limit := c.settings[maxSize]
	switch {
	case limit == nil || g.state == empty:
		return false
	case g.state == preparing:
		return len(g.parked()) >= *limit && (caller == nil || caller.join == nil)
	}
	return len(g.members) >= *limit && caller == nil
}

func (g *group) fits(asked *ask) bool {
	if g.state == empty {
		return asked.ProtocolType != "" && len(asked.Protocols) > 0
	}
	return asked.ProtocolType == g.protocolType && slices.ContainsFunc(asked.Protocols, func(p protocol) bool {
		return g.all(func(m *member) bool { return m.supports(p.Name) })
	})
}

// validate: who holds another's instance is fenced, before anything else is looked at.
func (g *group) validate(memberID string, instance *string) int {
	if instance != nil {
		holder := g.instances[*instance]
		if holder == nil {
			return unknownMemberID
		}
		if holder.id != memberID {
			return fencedInstanceID
		}
	}
	if g.member(memberID) == nil {
		return unknownMemberID
	}
	return none
}

// rejoin: a member that is known comes again.
func (c *Coordinator) rejoin(g *group, m *member, asked *ask) {
	isSame := slices.EqualFunc(m.protocols, asked.Protocols, func(a, b protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
	leads := g.leader == m.id
	if isSame && (g.state == completing || g.state == stable && !leads) {
		rows := []object{}
		if leads {
			rows = roster(g, asked.Version)
		}
		c.answerJoin(asked, none, m.id, joined(g, g.leader, rows))
		return
	}
	m.take(asked)
	c.park(g, m, asked)
}

// replace: a new process of a static member takes the place of the old one, under a new member id.
func (c *Coordinator) replace(g *group, m *member, asked *ask) {
	oldID, oldLeader, oldProtocol := m.id, g.leader, g.protocol
	if m.join != nil {
		c.answerJoin(m.join, fencedInstanceID, oldID, nil)
	}
	if m.sync != nil {
		c.answerSync(m.sync, fencedInstanceID, g, nil)
	}
	m.id, m.join, m.sync, m.owesSync = c.newID(*m.instance), nil, nil, false
	if oldLeader == oldID {
		g.leader = m.id
	}
	m.take(asked)
	if m.isNew {
		c.startSession(g, m, newMemberMs)
	} else {
		c.startSession(g, m, m.session)
	}
	if g.state != stable || g.vote() != oldProtocol {
		c.park(g, m, asked)
		return
	}
	if asked.Version < 9 {
		c.answerJoin(asked, none, m.id, joined(g, oldLeader, []object{}))
		return
	}
	reply := joined(g, g.leader, []object{})
	if g.leader == m.id {
		reply["members"], reply["skipAssignment"] = roster(g, asked.Version), true
	}
	c.answerJoin(asked, none, m.id, reply)
}

// check is what SyncGroup and Heartbeat have in common.
func (c *Coordinator) check(asked *ask) (*group, int) {
	g := c.groups[asked.GroupID]
	switch {
	case asked.GroupID == "":
		return nil, invalidGroupID
	case g == nil:
		return nil, unknownMemberID
	}
	code := g.validate(asked.MemberID, asked.GroupInstanceID)
	if code == none && asked.GenerationID != g.generation {
		code = illegalGeneration
	}
	return g, code
}

func (c *Coordinator) syncGroup(asked *ask) {
	var told struct{ ProtocolType, ProtocolName *string } // here alone null isn't ""
	json.Unmarshal(asked.Request.Body, &told)
	if asked.Version >= 5 && (told.ProtocolType == nil || told.ProtocolName == nil) {
		c.answerSync(asked, inconsistentProtocol, nil, nil)
		return
	}
	g, code := c.check(asked)
	if code == none && asked.Version >= 5 && (*told.ProtocolType != g.protocolType || *told.ProtocolName != g.protocol) {
		code = inconsistentProtocol
	}
	if code == none && g.state == preparing {
		code = rebalanceInProgress
	}
	if code != none {
		c.answerSync(asked, code, g, nil)
		return
	}
	caller := g.member(asked.MemberID)
	caller.owesSync = false
	if g.state == stable {
		c.startSession(g, caller, caller.session)
		c.answerSync(asked, none, g, caller.assignment)
		return
	}
	caller.sync = asked
	if caller.id != g.leader {
		return
	}
	g.state = stable
	for _, m := range g.members {
		m.assignment = nil
		for _, row := range asked.Assignments {
			if row.MemberID == m.id {
				m.assignment = row.Assignment
			}
		}
		if m.sync != nil {
			c.answerSync(m.sync, none, g, m.assignment)
			m.sync = nil
			c.startSession(g, m, m.session)
		}
	}
}

func (c *Coordinator) heartbeat(asked *ask) {
	g, code := c.check(asked)
	if code == none {
		caller := g.member(asked.MemberID)
		c.startSession(g, caller, caller.session)
		if g.state == preparing {
			code = rebalanceInProgress
		}
	}
	c.answer(asked, object{"errorCode": code})
}

func (c *Coordinator) leaveGroup(asked *ask) {
	isBatch := asked.Version >= 3
	g := c.groups[asked.GroupID]
	reply, rows, code := object{"errorCode": none}, []object{}, none
	if asked.GroupID == "" {
		reply["errorCode"] = invalidGroupID
	} else if !isBatch {
		reply["errorCode"] = c.leave(g, leaving{MemberID: asked.MemberID})
	} else {
		for _, row := range asked.Members {
			code = c.leave(g, row)
			rows = append(rows, object{"memberId": row.MemberID, "groupInstanceId": row.GroupInstanceID, "errorCode": code})
		}
	}
	if isBatch {
		reply["members"] = rows
	}
	c.answer(asked, reply)
}

func (c *Coordinator) leave(g *group, row leaving) int {
	if g == nil {
		return unknownMemberID
	}
	if row.MemberID == "" && row.GroupInstanceID != nil {
		if holder := g.instances[*row.GroupInstanceID]; holder != nil {
			c.remove(g, holder)
			return none
		}
		return unknownMemberID
	}
	if _, isPending := g.pending[row.MemberID]; isPending {
		c.forgetPending(g, row.MemberID)
		return none
	}
	code := g.validate(row.MemberID, row.GroupInstanceID)
	if code == none {
		c.remove(g, g.member(row.MemberID))
	}
	return code
}

func (c *Coordinator) offsetCommit(asked *ask) {
	exists := func(name string) bool { return !strings.HasPrefix(name, "missing") }
	code := none
	if slices.ContainsFunc(asked.Topics, func(t topic) bool { return exists(t.Name) }) {
		code = c.mayCommit(asked)
	}
	topics := []object{}
	for _, t := range asked.Topics {
		partitions := []object{}
		for _, p := range t.Partitions {
			said := code
			if !exists(t.Name) {
				said = unknownTopic
			} else if code == none {
				epoch := -1
				if p.CommittedLeaderEpoch != nil {
					epoch = *p.CommittedLeaderEpoch
				}
				c.offsets[place{asked.GroupID, t.Name, p.PartitionIndex}] = offset{p.CommittedOffset, epoch, p.CommittedMetadata}
			}
			partitions = append(partitions, object{"partitionIndex": p.PartitionIndex, "errorCode": said})
		}
		topics = append(topics, object{"name": t.Name, "partitions": partitions})
	}
	c.answer(asked, object{"topics": topics})
}

// mayCommit: without a generation anybody may while the group has no members.
func (c *Coordinator) mayCommit(asked *ask) int {
	g, generation := c.groups[asked.GroupID], asked.GenerationIDOrMemberEpoch
	switch {
	case g == nil && generation >= 0:
		return illegalGeneration
	case g == nil:
		c.groups[asked.GroupID] = newGroup()
		return none
	case generation < 0 && g.state == empty:
		return none
	case generation < 0 && asked.MemberID == "" && asked.GroupInstanceID == nil:
		return unknownMemberID
	}
	code := g.validate(asked.MemberID, asked.GroupInstanceID)
	switch {
	case code != none:
		return code
	case generation != g.generation:
		return illegalGeneration
	case g.state == completing:
		return rebalanceInProgress
	}
	caller := g.member(asked.MemberID)
	c.startSession(g, caller, caller.session)
	return none
}

// offsetFetch: anybody may read.  Topics that are null ask for all.
func (c *Coordinator) offsetFetch(asked *ask) {
	wanted := asked.Topics
	if wanted == nil {
		for at := range c.offsets {
			if at.group == asked.GroupID {
				wanted = append(wanted, topic{Name: at.topic, PartitionIndexes: []int{at.partition}})
			}
		}
	}
	topics := []object{}
	for _, t := range wanted {
		partitions := []object{}
		for _, index := range t.PartitionIndexes {
			found, known := c.offsets[place{asked.GroupID, t.Name, index}]
			if !known {
				noMetadata := ""
				found = offset{-1, -1, &noMetadata}
			}
			row := object{"partitionIndex": index, "committedOffset": found.offset, "metadata": found.metadata, "errorCode": none}
			if asked.Version >= 5 {
				row["committedLeaderEpoch"] = found.epoch
			}
			partitions = append(partitions, row)
		}
		topics = append(topics, object{"name": t.Name, "partitions": partitions})
	}
	reply := object{"topics": topics}
	if asked.Version >= 2 {
		reply["errorCode"] = none
	}
	c.answer(asked, reply)
}
