package main

import (
	"slices"
)

func newGroup() *group {
	return &group{instances: map[string]*member{}, pending: map[string]*timer{}}
}

func (m *member) supports(name string) bool {
	return slices.ContainsFunc(m.protocols, func(p protocol) bool { return p.Name == name })
}

func (m *member) metadata(name string) []byte {
	for _, p := range m.protocols {
		if p.Name == name {
			return append([]byte{}, p.Metadata...)
		}
	}
	return []byte{}
}

func (m *member) take(asked *ask) {
	m.session, m.rebalance, m.protocols = asked.SessionTimeoutMs, asked.SessionTimeoutMs, asked.Protocols
	if asked.RebalanceTimeoutMs != nil {
		m.rebalance = *asked.RebalanceTimeoutMs
	}
}

func (g *group) member(id string) *member {
	for _, m := range g.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (g *group) longest() int {
	most := 0
	for _, m := range g.members {
		most = max(most, m.rebalance)
	}
	return most
}

func (g *group) all(is func(*member) bool) bool {
	return !slices.ContainsFunc(g.members, func(m *member) bool { return !is(m) })
}

func (g *group) parked() []*member {
	return slices.DeleteFunc(slices.Clone(g.members), func(m *member) bool { return m.join == nil })
}

// vote: each member votes for the first of its protocols that all have.
func (g *group) vote() string {
	votes, best := map[string]int{}, ""
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.all(func(other *member) bool { return other.supports(p.Name) }) {
				votes[p.Name]++
				break
			}
		}
	}
	for name, count := range votes {
		if count > votes[best] || count == votes[best] && name < best {
			best = name
		}
	}
	return best
}

func (c *Coordinator) startSession(g *group, m *member, ms int) {
	c.stop(m.timer)
	m.timer = c.after(ms, func() {
		if m.isNew || m.join == nil && m.sync == nil {
			c.remove(g, m)
		}
	})
}

func (c *Coordinator) add(g *group, id string, asked *ask) {
	m := &member{id: id, instance: asked.GroupInstanceID, isNew: true}
	m.take(asked)
	if len(g.members) == 0 {
		g.protocolType, g.leader = asked.ProtocolType, id
	}
	g.members = append(g.members, m)
	if m.instance != nil {
		g.instances[*m.instance] = m
	}
	g.cameMeanwhile = true
	c.startSession(g, m, newMemberMs)
	c.park(g, m, asked)
}

// forget takes a member out of the group, and answers what it has parked.
func (c *Coordinator) forget(g *group, m *member) {
	g.members = slices.DeleteFunc(g.members, func(other *member) bool { return other == m })
	if m.instance != nil {
		delete(g.instances, *m.instance)
	}
	c.stop(m.timer)
	if m.join != nil {
		c.answerJoin(m.join, unknownMemberID, "", nil)
	}
	if m.sync != nil {
		c.answerSync(m.sync, unknownMemberID, g, nil)
	}
	if g.leader == m.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

func (c *Coordinator) remove(g *group, m *member) {
	c.forget(g, m)
	if g.state == completing || g.state == stable {
		c.rebalance(g)
	}
	c.tryComplete(g)
}

func (c *Coordinator) forgetPending(g *group, id string) {
	c.stop(g.pending[id])
	delete(g.pending, id)
	c.tryComplete(g)
}

// --- The rebalance.

func (c *Coordinator) park(g *group, m *member, asked *ask) {
	m.join = asked // an earlier one of this member is superseded
	c.rebalance(g)
	c.tryComplete(g)
}

func (c *Coordinator) rebalance(g *group) {
	if g.state == preparing {
		return
	}
	for _, m := range g.members {
		if g.state == completing {
			m.assignment = nil
		}
		if m.sync != nil {
			c.answerSync(m.sync, rebalanceInProgress, g, nil)
			m.sync = nil
			c.startSession(g, m, m.session)
		}
	}
	wait := g.longest()
	g.delayed = g.state == empty
	if g.delayed {
		g.delayLeft = max(wait-*c.settings[initialDelay], 0)
		g.cameMeanwhile = false
		wait = *c.settings[initialDelay]
	}
	g.state = preparing
	c.stop(g.syncTimer)
	g.timer = c.after(wait, func() { c.joinPhaseEnds(g) })
}

func (c *Coordinator) tryComplete(g *group) {
	isParked := func(m *member) bool { return m.join != nil }
	if g.state == preparing && !g.delayed && len(g.pending) == 0 && g.all(isParked) {
		c.complete(g)
	}
}

func (c *Coordinator) joinPhaseEnds(g *group) {
	if g.delayed && g.cameMeanwhile && g.delayLeft > 0 {
		more := min(*c.settings[initialDelay], g.delayLeft)
		g.delayLeft -= more
		g.cameMeanwhile = false
		g.timer = c.after(more, func() { c.joinPhaseEnds(g) })
		return
	}
	c.complete(g)
}

func (c *Coordinator) complete(g *group) {
	c.stop(g.timer)
	g.delayed = false
	for _, m := range slices.Clone(g.members) {
		if m.join == nil && m.instance == nil { // absent static members are kept
			c.forget(g, m)
		}
	}
	parked := g.parked()
	if len(g.members) > 0 && len(parked) == 0 {
		g.timer = c.after(g.longest(), func() { c.complete(g) })
		return
	}
	g.generation++
	if len(g.members) == 0 {
		g.state, g.leader, g.protocol = empty, "", ""
		return
	}
	g.state, g.protocol = completing, g.vote()
	if leader := g.member(g.leader); leader == nil || leader.join == nil {
		g.leader = parked[0].id
	}
	for _, m := range g.members {
		m.owesSync = false // of an earlier generation
		c.startSession(g, m, m.session)
	}
	for _, m := range parked {
		asked := m.join
		m.join, m.isNew, m.owesSync = nil, false, true
		rows := []object{}
		if m.id == g.leader {
			rows = roster(g, asked.Version)
		}
		c.answerJoin(asked, none, m.id, joined(g, g.leader, rows))
	}
	g.syncTimer = c.after(g.longest(), func() {
		for _, m := range slices.Clone(g.members) {
			if m.owesSync {
				c.remove(g, m)
			}
		}
	})
}
