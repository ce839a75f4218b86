// SeaweedFS's gateway for Kafka's clients, on a port of the loopback, until it is ended.
//
// The groups are real; what would be in SeaweedFS is kept in memory.
package main

import (
	"fmt"
	"os"

	"github.com/seaweedfs/seaweedfs/weed/mq/kafka/gateway"
)

func main() {
	if len(os.Args) != 2 {
		fail("usage: seaweedfs PORT")
	}
	server := gateway.NewTestServerForUnitTests(
		gateway.Options{Listen: "127.0.0.1:" + os.Args[1]},
	)
	if err := server.Start(); err != nil {
		fail(err)
	}
	server.Wait()
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
