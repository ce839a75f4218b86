// A small group coordinator, in memory, behind fencepost's adapter protocol 1.
//
//	go build -o coordinator . && fencepost certify exec:./coordinator
//
// This file is the adapter: one JSON object per line in, one out.  coordinator.go is the coordinator,
// and knows nothing of it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// A line is a command, or a reply to one: any JSON object.
type object = map[string]any

var apis = map[string][2]int{
	"JoinGroup": {0, 9}, "SyncGroup": {0, 5}, "Heartbeat": {0, 4}, "LeaveGroup": {0, 5},
	"OffsetCommit": {2, 8}, "OffsetFetch": {1, 7},
}

type command struct {
	Cmd     string
	Config  map[string]*int // reset; null is no limit
	Ms      int             // advance
	Request                 // send; disconnect has its connection alone
}

// run carries out a command.  Settings that it doesn't know are refused before anything changes.
func (c *Coordinator) run(cmd *command) object {
	switch cmd.Cmd {
	case "hello":
		return object{
			"protocol": 1, "implementation": "go-coordinator", "version": "1", "clock": "virtual",
			"apis": apis, "features": []string{"disconnect", "missing-topics"},
		}
	case "reset":
		settings := defaults()
		for key, value := range cmd.Config {
			if _, known := settings[key]; !known {
				return object{"unsupported": key}
			}
			settings[key] = value
		}
		dropped := c.open()
		*c = *newCoordinator(settings)
		return object{"ok": true, "config": settings, "dropped": dropped}
	case "send":
		versions, known := apis[cmd.API]
		if !known || cmd.Version < versions[0] || cmd.Version > versions[1] {
			return object{"unsupported": fmt.Sprintf("%s version %d", cmd.API, cmd.Version)}
		}
		request := cmd.Request
		if err := c.Handle(&request); err != nil {
			return object{"error": err.Error(), "context": object{"id": request.ID}}
		}
		return object{"answers": c.taken()}
	case "advance":
		c.Advance(cmd.Ms)
		return object{"answers": c.taken()}
	case "disconnect":
		return object{"answers": []object{}, "dropped": c.Disconnect(cmd.Connection)}
	case "bye":
		return object{"ok": true}
	}
	return object{"unsupported": cmd.Cmd}
}

func main() {
	input := bufio.NewReader(os.Stdin) // a Scanner would stop at a long line
	output := bufio.NewWriter(os.Stdout)
	coordinator := newCoordinator(defaults())
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			return // the judge is gone
		}
		var cmd command
		reply := object{}
		if err := json.NewDecoder(strings.NewReader(line)).Decode(&cmd); err != nil {
			reply = object{"error": err.Error()}
		} else {
			reply = coordinator.run(&cmd)
		}
		json.NewEncoder(output).Encode(reply) // ends the line, too
		output.Flush()
		if cmd.Cmd == "bye" {
			return
		}
	}
}
