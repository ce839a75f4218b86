// A kfake cluster of one broker, on a port of the loopback, until it is ended.
//
// The arguments are the port, and broker configurations as KEY=VALUE.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: kfake PORT [KEY=VALUE ...]")
	}
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fail(err)
	}
	configs := map[string]string{}
	for _, argument := range os.Args[2:] {
		key, value, found := strings.Cut(argument, "=")
		if !found {
			fail(argument + " is no KEY=VALUE")
		}
		configs[key] = value
	}
	if _, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.Ports(port), kfake.BrokerConfigs(configs),
	); err != nil {
		fail(err)
	}
	select {}
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
